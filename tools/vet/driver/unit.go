package driver

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"go/build"
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
// module that it imports.
//
// Packages of other modules have no findings that matter here, and facts of
// other modules are not used, so for them there is nothing to do at all.
//
// It returns the last argument, or the name of the configuration to use in its
// place, and whether the package is a dependency from another module.
func keepFindings(args []string) (last string, foreign bool, err error) {
	last = args[len(args)-1]
	data, err := os.ReadFile(last)
	if err != nil {
		return "", false, err
	}
	// All fields must survive, those of later Go versions too.
	var cfg map[string]any
	if err := json.Unmarshal(data, &cfg); err != nil {
		return "", false, fmt.Errorf("%s: %w", last, err)
	}
	if only, _ := cfg["VetxOnly"].(bool); !only {
		return last, false, nil
	}
	module, _ := cfg["ModulePath"].(string)
	if released, _ := cfg["ModuleVersion"].(string); module == "" || released != "" {
		return last, true, nil
	}
	// With -fix the driver would change files that nobody asked it to change.
	if isSet(args, "fix") && !isSet(args, "diff") {
		return last, false, nil
	}
	// In-package tests make another package of it, with its own place in the cache:
	// reporting here too would say everything twice.
	if dir, _ := cfg["Dir"].(string); hasTests(dir) {
		return last, false, nil
	}
	cfg["VetxOnly"] = false
	data, err = json.Marshal(cfg)
	if err != nil {
		return "", false, err
	}
	name := strings.TrimSuffix(last, ".cfg") + ".offtake.cfg"
	return name, false, os.WriteFile(name, data, 0o666)
}

func hasTests(dir string) bool {
	pkg, err := build.Default.ImportDir(dir, 0)
	return err == nil && len(pkg.TestGoFiles) > 0
}

func isSet(args []string, name string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		a = strings.TrimPrefix(strings.TrimPrefix(a, "-"), "-")
		return a == name || a == name+"=true"
	})
}

// version answers -V=full with a hash of the program and of the configuration
// files it would read: the go command knows nothing of those files, and would
// replay old findings after a change.
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
	files, err := configFiles(".")
	if err != nil {
		return err
	}
	h := sha256.New()
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
