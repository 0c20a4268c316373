package driver

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/offtake-go/offtake/tools/vet"
)

// Called reports whether these arguments come from the go command, which runs
// the tool once per package with a configuration that ends in .cfg, and asks
// for its version and flags before. A program that hosts the analyzer beside
// other commands asks this first, and then calls Unit.
func Called(args []string) bool {
	if len(args) == 0 {
		return false
	}
	return args[0] == "-V=full" || args[0] == "-flags" || strings.HasSuffix(args[len(args)-1], ".cfg")
}

// Unit serves one call of the go command and exits.
//
// It stands in front of the usual driver to close two holes in the cache of go
// vet in Go 1.26, see keepFindings and version.
func Unit(args []string) {
	analyzer, args, err := prepare(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Args = append(os.Args[:1:1], args...)
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	flag.CommandLine.Var(version{}, "V", "print the version and exit")
	unitchecker.Main(analyzer)
}

// prepare returns the analyzer and the arguments for the usual driver. Asked for
// its flags or version it reads no file: the go command does not pass on what
// goes wrong there.
func prepare(args []string) (*analysis.Analyzer, []string, error) {
	last := len(args) - 1
	if !strings.HasSuffix(args[last], ".cfg") {
		analyzer, err := vet.New(nil)
		return analyzer, args, err
	}
	name, foreign, err := keepFindings(args)
	if err != nil {
		return nil, nil, err
	}
	args = append(slices.Clone(args[:last]), name)
	opts := &vet.Options{Skip: foreign}
	if !foreign {
		if opts, err = fileOptions("."); err != nil {
			return nil, nil, err
		}
	}
	analyzer, err := vet.New(opts)
	return analyzer, args, err
}

// keepFindings makes the tool report on a package even when the go command
// wants only its facts. The go command's cache does not tell the two apart: a
// package that was first seen as a dependency is cached without findings, and
// stays clean until it changes. So findings must be there whichever run comes
// first. The price: vetting a package also reports on the packages of the same
// modules that it imports.
//
// What was downloaded has no findings that matter here, and facts of it are not
// used, so there is nothing to do at all. A module that is replaced by a folder
// is the author's own code like any other, and may be vetted where it lives.
//
// It returns the last argument, or the name of the configuration to use in its
// place, and whether the package was downloaded.
func keepFindings(args []string) (last string, foreign bool, err error) {
	last = args[len(args)-1]
	data, err := os.ReadFile(last)
	if err != nil {
		return "", false, err
	}
	// All fields must survive, those of later Go versions too.
	var all map[string]any
	var u unit
	if err := errors.Join(json.Unmarshal(data, &all), json.Unmarshal(data, &u)); err != nil {
		return "", false, fmt.Errorf("%s: %w", last, err)
	}
	if !u.VetxOnly {
		return last, false, nil
	}
	if u.downloaded() {
		return last, true, nil
	}
	// With -fix the driver would change files that nobody asked it to change.
	if isSet(args, "fix") && !isSet(args, "diff") {
		return last, false, nil
	}
	// A package of which another is what gets reported needs no second report. What
	// go vet compiles again for the tests of another package, as it does q if the
	// tests of p import q and q imports p, can not be told from q itself; go vet
	// prints its findings twice, and offtakevet drops one.
	if u.hasTests() {
		return last, false, nil
	}
	all["VetxOnly"] = false
	data, err = json.Marshal(all)
	if err != nil {
		return "", false, err
	}
	name := strings.TrimSuffix(last, ".cfg") + ".offtake.cfg"
	return name, false, os.WriteFile(name, data, 0o666)
}

// A unit is the part of the go command's configuration that decides whether a
// package is reported on.
type unit struct {
	Dir, ImportPath           string
	ModulePath, ModuleVersion string
	VetxOnly                  bool
	IgnoredFiles              []string
}

// downloaded reports whether the package is of the standard library, the module
// cache or a vendor folder. A replaced module has a version too, so the version
// alone does not tell.
func (u *unit) downloaded() bool {
	if u.ModulePath == "" {
		return true
	}
	if u.ModuleVersion == "" {
		return false
	}
	dir := filepath.ToSlash(u.Dir)
	return strings.Contains(dir, "@v") || strings.HasSuffix(dir, "/vendor/"+u.ImportPath)
}

// hasTests reports whether in-package tests make another package of this one,
// with its own place in the cache, which is the one that is reported on. The go
// command has applied the build tags: what they leave out is among IgnoredFiles.
func (u *unit) hasTests() bool {
	names, err := filepath.Glob(filepath.Join(escape(u.Dir), "*_test.go"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		if base := filepath.Base(name); base[0] == '_' || base[0] == '.' || slices.Contains(u.IgnoredFiles, name) {
			return false
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly)
		return err == nil && !strings.HasSuffix(f.Name.Name, "_test")
	})
}

// escape makes a folder's name mean itself in a pattern.
func escape(dir string) string {
	if filepath.Separator == '\\' {
		return dir // there no pattern can escape anything
	}
	return strings.NewReplacer("*", "\\*", "?", "\\?", "[", "\\[", "\\", "\\\\").Replace(dir)
}

func isSet(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		a = strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-")
		return a == name || a == name+"=true"
	})
}

// version answers -V=full with a hash of the program, of the configuration
// files it would read, and of the main modules: the go command knows nothing of
// those files, and would replay old findings after a change; and the same
// package is someone else's in one module and at home in another.
type version struct{}

func (version) IsBoolFlag() bool { return true }
func (version) String() string   { return "" }

func (version) Set(s string) error {
	if s != "full" {
		return fmt.Errorf("unsupported -V=%s, want -V=full", s)
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	home, files, err := configFiles(".")
	if err != nil {
		return err
	}
	h := sha256.New()
	fmt.Fprintln(h, home)
	for _, name := range append([]string{program}, files...) {
		if err := hashFile(h, name); err != nil {
			return err
		}
	}
	fmt.Printf("%s version devel buildID=%02x\n", filepath.Base(program), h.Sum(nil))
	os.Exit(0)
	return nil
}

func hashFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintln(w, name)
	_, err = io.Copy(w, f)
	return err
}
