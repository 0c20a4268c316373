package vet_test

import (
	"go/ast"
	"go/parser"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// An editor and golangci-lint run analyzers on code that is being written. The
// parts share the standard library.
func TestSurvivesWrongCode(t *testing.T) {
	c := newCorpus(t, "strict,advice", "net/http/httputil", "net/rpc", "net/smtp", "log/syslog", "testing")
	t.Run("the standard library without its generated parts", c.standardLibrary)
	t.Run("the tests of the type checker", c.typeCheckersTests)
	t.Run("a line missing", c.missingLines)
}

// typeCheckersTests are thousands of lines of wrong code. Each file is analyzed
// with net/http among its imports, so that all rules look at it.
func (c *corpus) typeCheckersTests(t *testing.T) {
	before := c.packages
	http, err := c.std.Import("net/http")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join(runtime.GOROOT(), "src/internal/types/testdata")
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		f, _ := parser.ParseFile(c.fset, path, nil, parser.ParseComments|parser.SkipObjectResolution|parser.AllErrors)
		if f == nil {
			return nil
		}
		c.run("m/"+f.Name.Name, []*ast.File{f}, nil, func(pkg *types.Package) { pkg.SetImports([]*types.Package{http}) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := c.packages - before; n < 300 {
		t.Errorf("analyzed %d files below %s, want at least 300", n, root)
	}
}

// missingLines takes every seventh line out of our own test files, one at a time:
// that is wrong code about clients.
func (c *corpus) missingLines(t *testing.T) {
	names, err := filepath.Glob("testdata/src/*/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.SplitAfter(string(text), "\n")
		for i := 0; i < len(lines); i += 7 {
			rest := strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "")
			f, _ := parser.ParseFile(c.fset, name, rest, parser.ParseComments|parser.SkipObjectResolution|parser.AllErrors)
			if f != nil {
				c.run("m/"+f.Name.Name, []*ast.File{f}, nil, func(*types.Package) {})
			}
		}
	}
}
