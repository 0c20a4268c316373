package driver_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/tools/vet/driver"
)

// tool is the program under test, built once. It is the one that is delivered,
// and not this test binary: the go command starts it some hundred times, and
// with the race detector each start would be slow.
var tool string

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "offtakevet")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	tool = filepath.Join(dir, "offtakevet")
	if out, err := exec.Command("go", "build", "-o", tool, "../../cmd/offtakevet").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// module writes a module in a directory of its own, makes it the working
// directory, and makes its content unlike that of any other run, so that nothing
// of it is in the cache. Files are given as name, content, name, content.
func module(t *testing.T, files ...string) {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	write(t, "go.mod", "module example.com/m\n\ngo 1.26.0\n")
	for i := 0; i < len(files); i += 2 {
		content := files[i+1]
		if strings.HasSuffix(files[i], ".go") {
			content += fmt.Sprintf("\n// %d\n", time.Now().UnixNano())
		}
		write(t, files[i], content)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

// goTool runs the go command with TOOL in its arguments replaced by the tool, and
// returns all it prints.
func goTool(t *testing.T, args ...string) (string, error) {
	t.Helper()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "TOOL", tool)
	}
	out, err := exec.Command("go", args...).CombinedOutput()
	return string(out), err
}

func vetTool(t *testing.T, args ...string) string {
	t.Helper()
	out, _ := goTool(t, append([]string{"vet", "-vettool=TOOL"}, args...)...)
	return out
}

// run runs the tool on its own.
func run(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	cmd := exec.Command(tool, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil {
		return -1, "", err.Error()
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// Package net has a third of the dependencies of net/http, each of which the go
// command vets anew for every set of flags.
const (
	bad   = "package p\n\nimport \"net\"\n\nfunc Dial(a string) { net.Dial(\"tcp\", a) }\n"
	user  = "package q\n\nimport \"example.com/m/p\"\n\nfunc Dial(a string) { p.Dial(a) }\n"
	inP   = "p.go:5:23: OT501: net.Dial has no timeout"
	fixed = "http.NewRequestWithContext(ctx, "
)

// The go command's cache does not know whether a package was vetted for its
// findings or for its facts alone.
func TestFindingsSurviveWhateverRunCameFirst(t *testing.T) {
	for _, order := range [][]string{{"./q", "./p"}, {"./p", "./q"}, {"./q", "./..."}, {"./...", "./p"}} {
		t.Run(strings.Join(order, " then "), func(t *testing.T) {
			module(t, "p/p.go", bad, "q/q.go", user)
			vetTool(t, order[0])
			if out := vetTool(t, order[1]); !strings.Contains(out, inP) {
				t.Errorf("go vet %s after go vet %s = %q, want %q", order[1], order[0], out, inP)
			}
		})
	}
}

func TestFindingsOfPackagesWithTestsComeOnce(t *testing.T) {
	module(t, "p/p.go", bad, "p/p_test.go", "package p\n", "q/q.go", user)
	vetTool(t, "./q")
	if out := vetTool(t, "./..."); strings.Count(out, "OT501") != 1 {
		t.Errorf("go vet ./... = %q, want one finding", out)
	}
}

func TestChangedConfigurationIsSeen(t *testing.T) {
	module(t, "p/p.go", "package p\n\nimport \"net\"\n\nfunc Dial(n, a string) { net.Dial(n, a) }\n")
	if out := vetTool(t, "./p"); strings.Contains(out, "OT") {
		t.Errorf("go vet without a file = %q, want nothing", out)
	}
	write(t, driver.ConfigName, "profile = strict # policy\n")
	if out := vetTool(t, "./p"); !strings.Contains(out, "OT504") {
		t.Errorf("go vet after profile = strict: %q, want OT504", out)
	}
	write(t, driver.ConfigName, "profile = strict\ndisable = OT504\n")
	if out := vetTool(t, "./p"); strings.Contains(out, "OT") {
		t.Errorf("go vet after disable = OT504: %q, want nothing", out)
	}
	if out := vetTool(t, "-offtake.disable=OT501", "./p"); !strings.Contains(out, "OT504") {
		t.Errorf("go vet -offtake.disable=OT501 = %q, want OT504: flags win", out)
	}
}

func TestBadConfigurationIsAFailure(t *testing.T) {
	module(t, "p/p.go", bad, driver.ConfigName, "profile = lax\ndisable = OT9\n")
	code, out, errs := run("./...")
	if code != 2 || out != "" || !strings.Contains(errs, driver.ConfigName+":1:10: ") || !strings.Contains(errs, driver.ConfigName+":2:10: ") {
		t.Errorf("offtakevet with two mistakes in its file = %d, prints %q and %q, want 2 and both places", code, out, errs)
	}
	if out := vetTool(t, "./..."); !strings.Contains(out, driver.ConfigName+":2:10: ") {
		t.Errorf("go vet with two mistakes in the file prints %q, want both places", out)
	}
}

func TestSeesCgoAndTaggedFiles(t *testing.T) {
	module(t, "p/p.go", "package p\n\n// int one(void) { return 1; }\nimport \"C\"\n\nimport \"net\"\n\nfunc Dial(a string) { net.Dial(\"tcp\", a); C.one() }\n",
		"p/tagged.go", "//go:build special\n\npackage p\n\nimport \"net\"\n\nfunc TCP(a *net.TCPAddr) { net.DialTCP(\"tcp\", nil, a) }\n")
	t.Setenv("CGO_ENABLED", "1")
	if out := vetTool(t, "./p"); !strings.Contains(out, "p.go:8:23: OT501: net.Dial ") || strings.Contains(out, "net.DialTCP") {
		t.Errorf("go vet of a cgo package = %q, want net.Dial at 8:23 alone", out)
	}
	if out := vetTool(t, "-tags=special", "./p"); !strings.Contains(out, "net.DialTCP") {
		t.Errorf("go vet -tags=special = %q, want net.DialTCP too", out)
	}
	if _, out, _ := run("-tags=special", "./p"); !strings.Contains(out, "net.DialTCP") {
		t.Errorf("offtakevet(-tags=special) prints %q, want net.DialTCP too", out)
	}
}

func TestFactsCrossPackages(t *testing.T) {
	module(t, "p/p.go", "package p\n\nimport \"net/http\"\n\nfunc New() *http.Client { return &http.Client{} }\n",
		"q/q.go", "package q\n\nimport (\n\t\"net/http\"\n\n\t\"example.com/m/p\"\n)\n\nfunc Get(u string) (*http.Response, error) { return p.New().Get(u) }\n")
	if out := vetTool(t, "./..."); !strings.Contains(out, "OT601: p.New returns") {
		t.Errorf("go vet ./... = %q, want OT601", out)
	}
}

const dropped = `package p

import (
	"context"
	"net/http"
)

func Get(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	c.Do(req)
}
`

func TestFixesApplyUnderEveryDriver(t *testing.T) {
	for _, args := range [][]string{{"vet", "-vettool=TOOL", "-fix", "./..."}, {"fix", "-fixtool=TOOL", "./..."}, nil} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			module(t, "p/p.go", dropped)
			if args == nil {
				if code, _, errs := run("-fix", "./..."); code != 0 {
					t.Fatalf("offtakevet(-fix) = %d, want 0: %s", code, errs)
				}
			} else if out, err := goTool(t, args...); err != nil {
				t.Fatalf("go %v: %v\n%s", args, err, out)
			}
			got, err := os.ReadFile("p/p.go")
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(got, []byte(fixed)) {
				t.Errorf("after go %v, p.go is\n%s\nwant it to contain %q", args, got, fixed)
			}
			if out, err := goTool(t, "build", "./..."); err != nil {
				t.Errorf("go build after the fix: %v\n%s", err, out)
			}
		})
	}
}

func TestShowsFixesWithoutApplyingThem(t *testing.T) {
	module(t, "p/p.go", dropped)
	code, out, _ := run("-fix", "-diff", "./...")
	if code != 1 || !strings.Contains(out, fixed) {
		t.Errorf("offtakevet(-fix -diff) = %d, prints %q, want 1 and a diff with %q", code, out, fixed)
	}
}

func TestExitCodeSaysWhatHappened(t *testing.T) {
	module(t, "p/p.go", bad, "q/q.go", user, "broken/broken.go", "package broken\n\nvar x int = \"\"\n")
	for _, test := range []struct {
		args []string
		want int
	}{
		{[]string{"./p"}, 1},
		{[]string{"./q"}, 0}, // p is only imported
		{[]string{"./broken"}, 2},
		{[]string{"./nowhere"}, 2},
		{[]string{"-disable=OT501", "./p"}, 0},
		{[]string{"-disable=OT9", "./p"}, 2},
		{[]string{"-sarif", "-json", "./p"}, 2},
		{[]string{"-baseline-update", "./p"}, 2},
		{[]string{"-diff", "./p"}, 2},
		{[]string{"-rules"}, 0},
		{[]string{"-h"}, 0},
	} {
		if code, out, errs := run(test.args...); code != test.want {
			t.Errorf("offtakevet %q = %d, want %d\n%s%s", test.args, code, test.want, out, errs)
		}
	}
}

func TestPrintsJSONAndSARIF(t *testing.T) {
	module(t, "p/p.go", bad)
	_, out, _ := run("-json", "./...")
	var got struct{ Findings []driver.Finding }
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 1 {
		t.Fatalf("offtakevet(-json) prints %d findings, want 1", len(got.Findings))
	}
	f := got.Findings[0]
	if f.Rule != "OT501" || f.File != "p/p.go" || f.Line != 5 || f.Column != 23 || f.Package != "example.com/m/p" || f.Severity != "warning" {
		t.Errorf("offtakevet(-json) prints %+v, want OT501 at p/p.go:5:23 in example.com/m/p", f)
	}

	_, out, _ = run("-sarif", "./...")
	var log struct {
		Version string
		Runs    []struct {
			Results []struct {
				RuleID    string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || len(log.Runs[0].Results) != 1 {
		t.Fatalf("offtakevet(-sarif) prints %+v, want version 2.1.0 and one result", log)
	}
	place := log.Runs[0].Results[0].Locations[0].PhysicalLocation
	if place.ArtifactLocation.URI != "p/p.go" || place.Region.StartLine != 5 {
		t.Errorf("offtakevet(-sarif) prints %+v, want p/p.go line 5", place)
	}
}

func TestBaselineMayOnlyShrink(t *testing.T) {
	two := bad + "\nfunc Dial4(a string) { net.Dial(\"tcp4\", a) }\n"
	module(t, "p/p.go", two, "q/q.go", user)
	check := func(step string, want int, args ...string) {
		t.Helper()
		code, out, errs := run(append([]string{"-baseline=base.json"}, args...)...)
		if code != want {
			t.Errorf("%s: offtakevet %q = %d, want %d\n%s%s", step, args, code, want, out, errs)
		}
	}
	check("there is no file", 2, "./...")
	check("made", 0, "-baseline-update", "./...")
	check("as many as before", 0, "./...")

	write(t, "p/p.go", two+"\nfunc Dial6(a string) { net.Dial(\"tcp6\", a) }\n")
	check("one more", 1, "./...")
	check("an update does not raise it", 1, "-baseline-update", "./...")

	write(t, "p/p.go", bad)
	check("one less is to be written down", 1, "./...")
	check("but not by who did not look there", 0, "./q")
	check("written down", 0, "-baseline-update", "./...")
	write(t, "p/p.go", two)
	check("it can not come back", 1, "./...")

	write(t, "base.json", `{"example.com/m/p": {"OT501": 0, "OT102": -1}}`)
	code, _, errs := run("-baseline=base.json", "./...")
	if code != 2 || strings.Count(errs, "want 1 or more") != 2 {
		t.Errorf("offtakevet with a bad baseline = %d, prints %q, want 2 and both mistakes", code, errs)
	}
}

// Each of these looks like clean code to a CI that only reads the exit code.
func TestSelfTestSeesAToolThatDoesNotRun(t *testing.T) {
	module(t)
	for _, test := range []struct {
		name string
		args []string
		want int
	}{
		{"go vet with this tool", nil, 0},
		{"said in full", []string{"go", "vet", "-vettool=" + tool}, 0},
		{"an empty -vettool", []string{"go", "vet", "-vettool="}, 2},
		{"-json never fails", []string{"go", "vet", "-json", "-vettool=" + tool}, 2},
		{"another tool", []string{"true"}, 2},
		{"no such tool", []string{"there-is-no-such-tool"}, 2},
	} {
		if code, _, errs := run(append([]string{"-selftest"}, test.args...)...); code != test.want {
			t.Errorf("%s: offtakevet(-selftest) = %d, want %d: %s", test.name, code, test.want, errs)
		}
	}
	t.Setenv("GOFLAGS", "-vettool="+tool)
	if code, _, _ := run("-selftest", "go", "vet"); code != 2 {
		t.Errorf("-vettool in GOFLAGS: offtakevet(-selftest) = %d, want 2", code)
	}
}

// A tool directive is how a module pins the analyzer beside its code.
func TestRunsAsGoTool(t *testing.T) {
	tools, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(tools, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	module(t, "p/p.go", bad)
	write(t, "go.sum", string(sums))
	write(t, "go.mod", fmt.Sprintf(`module example.com/m

go 1.26.0

require github.com/offtake-go/offtake/tools v0.0.0

replace (
	github.com/offtake-go/offtake/tools => %s
	github.com/offtake-go/offtake => %s
)
`, tools, filepath.Dir(tools)))
	// All that the tool needs is there, or this test would not have been built. A
	// proxy would be asked for modules that are folders here.
	t.Setenv("GOPROXY", "off")
	if out, err := goTool(t, "get", "-tool", "github.com/offtake-go/offtake/tools/cmd/offtakevet@v0.0.0"); err != nil {
		t.Fatalf("go get -tool: %v\n%s", err, out)
	}
	if out, err := goTool(t, "tool", "offtakevet", "./..."); err == nil || !strings.Contains(out, inP) {
		t.Errorf("go tool offtakevet ./... = %v, prints %q, want exit 1 and %q", err, out, inP)
	}
}
