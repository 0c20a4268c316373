package vet_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/offtake-go/offtake/tools/vet"
)

func newAnalyzer(t *testing.T, opts *vet.Options) *analysis.Analyzer {
	t.Helper()
	a, err := vet.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// All packages of one profile are loaded together: that is where the time goes.
func TestReportsWhatIsProved(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), newAnalyzer(t, nil),
		"ot101", "ot101/mocks", "ot101main", "ot102", "ot104", "ot104main", "ot202", "ot206", "ot206main",
		"forms", "silent", "silent/headers", "ot301", "ot302", "ot402", "ot501", "ot601/a", "ot601/b", "ot701")
}

// What a fix writes must compile, and is compared with the golden files.
func TestReportsPolicyAndAdviceAndFixes(t *testing.T) {
	opts := &vet.Options{Profiles: []string{"strict", "advice"}, Factories: []string{"fixes/..."}, Disable: []string{"OT501"}}
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), newAnalyzer(t, opts),
		"strict", "strict/clients", "strict/user", "suppress", "advice", "fixes")
}

// What the rules know of offtake's own packages is tested against those packages:
// a stub that is not quite like them hides that a rule never fires.
func TestReportsMisuseOfOfftakeItself(t *testing.T) {
	dir := realModule(t)
	if err := os.CopyFS(dir, os.DirFS("testdata/own")); err != nil {
		t.Fatal(err)
	}
	opts := &vet.Options{Profiles: []string{"strict", "advice"}, Disable: []string{"OT203", "OT205"}}
	analysistest.Run(t, dir, newAnalyzer(t, opts), "./ot701", "./ot801", "./ot802", "./ot803")
}

// realModule makes a module that requires offtake as it lies here, and what that
// requires, with the stubs of other libraries in testdata/src. It needs no
// network: this module was built with the same.
func realModule(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse("go.mod", text, nil)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := mod.Module.Mod.Path
	replace := func(path, by string) {
		if err := errors.Join(mod.AddRequire(path, "v0.0.0"), mod.AddReplace(path, "", by, "")); err != nil {
			t.Fatal(err)
		}
	}
	if err := mod.AddModuleStmt("user.example"); err != nil {
		t.Fatal(err)
	}
	replace(path, root)
	for _, stub := range []string{"github.com/hashicorp/go-retryablehttp", "github.com/gorilla/websocket"} {
		at := filepath.Join(dir, "_stubs", stub)
		if err := os.CopyFS(at, os.DirFS(filepath.Join("testdata/src", stub))); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(at, "go.mod"), "module "+stub+"\n\ngo 1.26\n")
		replace(stub, at)
	}
	if err := os.CopyFS(filepath.Join(dir, "clients"), os.DirFS("testdata/src/example.com/clients")); err != nil {
		t.Fatal(err)
	}
	mod.Cleanup()
	made, err := mod.Format()
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "go.mod"), string(made))
	writeFile(t, filepath.Join(dir, "go.sum"), string(sums))
	return dir
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
