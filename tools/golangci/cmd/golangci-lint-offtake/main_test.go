package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The test binary is the linter, so that nothing of its size is linked twice.
const asLinter = "GOLANGCI_LINT_OFFTAKE_RUN"

func TestMain(m *testing.M) {
	if os.Getenv(asLinter) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const config = `version: "2"
linters:
  default: none
  enable: [offtake]
  settings:
    custom:
      offtake:
        type: module
        settings:
          SETTINGS
`

// The code shows a defect with a fix, one that needs a fact of another package,
// a breach of policy, and a suppression.
const code = `package q

import (
	"context"
	"net/http"

	"example.com/m/p"
)

func Fetch(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	req, err := http.NewRequest("GET", u, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

func FromDep(u string) (*http.Response, error) { return p.New().Get(u) }

var own = &http.Client{Timeout: 1}

//offtake:allow OT201 -- a probe of this very machine
var allowed = &http.Client{Timeout: 1}
`

const dep = `package p

import "net/http"

func New() *http.Client {
	//offtake:allow OT201 -- the test is about who uses it
	return &http.Client{}
}
`

func module(t *testing.T, settings string) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOLANGCI_LINT_CACHE", t.TempDir())
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26.0\n", ".golangci.yml": strings.ReplaceAll(config, "SETTINGS", settings),
		"p/p.go": dep, "q/q.go": code,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func lint(t *testing.T, args ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"run"}, args...)...)
	cmd.Env = append(os.Environ(), asLinter+"=1")
	out, _ := cmd.CombinedOutput()
	return string(out)
}

func TestLinterReportsAndFixes(t *testing.T) {
	module(t, "profile: [strict]")
	out := lint(t, "./...")
	for _, want := range []string{
		"q/q.go:11:14: OT301: ",
		"q/q.go:18:57: OT601: p.New returns an http.Client without Timeout",
		"q/q.go:20:12: OT201: ",
		"3 issues",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("golangci-lint run prints\n%s\nwant it to contain %q", out, want)
		}
	}

	lint(t, "--fix", "./...")
	fixed, err := os.ReadFile("q/q.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := `http.NewRequestWithContext(ctx, "GET", u, nil)`; !strings.Contains(string(fixed), want) {
		t.Errorf("after golangci-lint run --fix, q.go is\n%s\nwant it to contain %q", fixed, want)
	}
	if out, err := exec.Command("go", "build", "./...").CombinedOutput(); err != nil {
		t.Errorf("go build after --fix: %v\n%s", err, out)
	}
}

func TestLinterRefusesBadSettings(t *testing.T) {
	for settings, want := range map[string]string{
		"profile: [lax]":  `unknown "lax", want bugs, strict or advice`,
		"colour: blue":    `unknown field "colour"`,
		"disable: [OT99]": `no rule "OT99"`,
	} {
		module(t, settings)
		if out := lint(t, "./..."); !strings.Contains(out, want) {
			t.Errorf("golangci-lint run with %s prints\n%s\nwant it to contain %q", settings, out, want)
		}
	}
}
