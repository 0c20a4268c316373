package vet_test

import (
	"flag"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/passes/inspect"
	"golang.org/x/tools/go/ast/inspector"

	"github.com/offtake-go/offtake/tools/vet"
)

var (
	corpusDir = flag.String("corpus", "", "also analyze all packages below this `directory`, and log the findings")
	profile   = flag.String("profile", "strict,advice", "the `profiles` for -corpus")
)

// standardLibrary holds one known defect: smtp.Dial has no timeout, and can not
// change.
func (c *corpus) standardLibrary(t *testing.T) {
	before := c.packages
	for _, dir := range []string{"net", "net/http", "net/http/httputil", "net/rpc", "net/smtp", "log/syslog", "crypto/tls", "cmd/go/internal/web", "cmd/pprof", "go/types", "encoding/json"} {
		c.analyze(filepath.Join(runtime.GOROOT(), "src", dir), dir, nil)
	}
	if n := c.packages - before; n < 10 {
		t.Errorf("analyzed %d packages, want at least 10", n)
	}
	for _, msg := range c.bugs {
		if !strings.Contains(msg, "net/smtp/smtp.go") {
			t.Errorf("a report of profile bugs: %s", msg)
		}
	}
}

// The corpus is analyzed as it lies there: imports of other modules are empty
// packages, so that much of it does not type-check. The analyzer must neither
// panic on it nor say anything about what it can not see.
func TestAnalyzesCorpus(t *testing.T) {
	if *corpusDir == "" {
		return
	}
	c := newCorpus(t, *profile, "std")
	c.tree(*corpusDir)
	for _, msg := range c.all {
		t.Log(msg)
	}
	t.Logf("%d packages, %d findings", c.packages, len(c.all))
}

type corpus struct {
	t        *testing.T
	analyzer *analysis.Analyzer
	fset     *token.FileSet
	std      types.Importer
	exports  map[string]string // the compiled packages of the standard library
	mod      map[string]*types.Package
	packages int
	all      []string
	bugs     []string
}

// newCorpus prepares an analyzer, and the named packages of the standard library
// with all they import.
func newCorpus(t *testing.T, profiles string, std ...string) *corpus {
	t.Helper()
	a, err := vet.New(&vet.Options{Profiles: strings.Split(profiles, ",")})
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	c := &corpus{t: t, analyzer: a, fset: fset, mod: make(map[string]*types.Package), exports: make(map[string]string)}
	out, err := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"}, std...)...).Output()
	if err != nil {
		t.Fatalf("go list -export: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		c.exports[path] = file
	}
	c.std = importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(c.exports[path]) })
	return c
}

// tree analyzes every package below dir, each within the module it lies in.
func (c *corpus) tree(dir string) {
	var module *analysis.Module
	var root string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || name == "vendor" || name == "node_modules" || strings.HasPrefix(name, ".") && path != dir {
			return filepath.SkipDir
		}
		if data, err := os.ReadFile(filepath.Join(path, "go.mod")); err == nil {
			root, module = path, &analysis.Module{Path: modfile.ModulePath(data)}
		}
		if module == nil {
			return nil
		}
		rel, _ := filepath.Rel(root, path)
		c.analyze(path, filepath.ToSlash(filepath.Join(module.Path, rel)), module)
		return nil
	})
	if err != nil {
		c.t.Error(err)
	}
}

func (c *corpus) analyze(dir, path string, module *analysis.Module) {
	bp, err := build.Default.ImportDir(dir, 0)
	if err != nil {
		return
	}
	var files []*ast.File
	for _, name := range append(bp.GoFiles, bp.CgoFiles...) {
		f, err := parser.ParseFile(c.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return
		}
		files = append(files, f)
	}
	c.run(path, files, module, func(*types.Package) {})
}

// run type-checks what can be, lets prepare change the result, and analyzes it.
func (c *corpus) run(path string, files []*ast.File, module *analysis.Module, prepare func(*types.Package)) {
	info := &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Defs: make(map[*ast.Ident]types.Object), Uses: make(map[*ast.Ident]types.Object),
		Implicits: make(map[ast.Node]types.Object), Instances: make(map[*ast.Ident]types.Instance), Scopes: make(map[ast.Node]*types.Scope),
		Selections: make(map[*ast.SelectorExpr]*types.Selection), FileVersions: make(map[*ast.File]string),
	}
	cfg := &types.Config{Importer: c, Error: func(error) {}, FakeImportC: true}
	pkg, _ := cfg.Check(path, c.fset, files, info)
	prepare(pkg)
	c.packages++
	_, err := c.analyzer.Run(&analysis.Pass{
		Analyzer: c.analyzer, Fset: c.fset, Files: files, Pkg: pkg, TypesInfo: info, Module: module,
		ResultOf: map[*analysis.Analyzer]any{inspect.Analyzer: inspector.New(files)},
		Report: func(d analysis.Diagnostic) {
			msg := c.fset.Position(d.Pos).String() + ": " + d.Message
			c.all = append(c.all, msg)
			for _, r := range vet.Rules() {
				if r.ID == d.Category && r.Profile == vet.Bugs {
					c.bugs = append(c.bugs, msg)
				}
			}
		},
		ImportObjectFact: func(types.Object, analysis.Fact) bool { return false }, ExportObjectFact: func(types.Object, analysis.Fact) {},
		ImportPackageFact: func(*types.Package, analysis.Fact) bool { return false }, ExportPackageFact: func(analysis.Fact) {},
	})
	if err != nil {
		c.t.Errorf("%s: %v", path, err)
	}
}

// Import takes the standard library as it is compiled, and invents the rest.
func (c *corpus) Import(path string) (*types.Package, error) {
	if path == "unsafe" || c.exports[path] != "" {
		return c.std.Import(path)
	}
	if pkg, ok := c.mod[path]; ok {
		return pkg, nil
	}
	name := filepath.Base(path)
	if strings.HasPrefix(name, "v") && len(name) < 4 {
		name = filepath.Base(filepath.Dir(path))
	}
	pkg := types.NewPackage(path, strings.TrimPrefix(strings.ReplaceAll(name, ".", "_"), "go-"))
	pkg.MarkComplete()
	c.mod[path] = pkg
	return pkg, nil
}
