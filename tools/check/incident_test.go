package check_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
	"github.com/offtake-go/offtake/tools/check/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// checkDir checks a folder of testdata: its contract and everything beside it.
func checkDir(t testing.TB, dir string, o check.Options) *check.Report {
	t.Helper()
	c, err := contract.Load(filepath.Join("testdata", dir, "offtake.yaml"), "")
	if err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join("testdata", dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return filepath.Base(n) == "offtake.yaml" })
	set, err := manifest.Read(names, nil)
	if err != nil {
		t.Fatal(err)
	}
	if o.Now.IsZero() {
		o.Now = time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return check.NewWorld(c, set, o).Check(check.Baseline{})
}

func TestTheIncidentsAreFound(t *testing.T) {
	for _, dir := range []string{"inc1187", "outage24", "sixpods", "twentypods"} {
		t.Run(dir, func(t *testing.T) {
			r := checkDir(t, dir, check.Options{})
			var whole, brief bytes.Buffer
			if err := report.Text(&whole, r, false); err != nil {
				t.Fatal(err)
			}
			if err := report.Brief(&brief, r, false, 0); err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", dir, "golden.txt"), brief.Bytes())
			golden(t, filepath.Join("testdata", dir, "golden-verbose.txt"), whole.Bytes())
		})
	}
}

func TestTheOutageFitsOnOneScreen(t *testing.T) {
	var b bytes.Buffer
	if err := report.Brief(&b, checkDir(t, "outage24", check.Options{}), false, report.DefaultWidth); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) > 24 {
		t.Errorf("the report has %d lines, want 24 at most", len(lines))
	}
	for _, line := range lines {
		if n := utf8.RuneCountInString(line); n > report.DefaultWidth {
			t.Errorf("a line has %d columns, want %d at most: %s", n, report.DefaultWidth, line)
		}
	}
	for _, repair := range []string{
		"at 100% 24 of 24 can be ejected, healthy 0% vs panic < 50% → maxEjectionPercent 54 or less",                  // 100 against 50
		"mesh.yaml:26 readiness does not cover warming: authz", "→ a readiness probe that passes when pools are warm", // no readiness gate
		"offtake.yaml:8 a hop without a timeout: fraud-check", "timeouts [program 0 s] → a timeout at every hop", // a client without timeout
		"proxy timeout 0 s, app deadline 2 s → a timeout of the proxy below 2 s",
	} {
		if !strings.Contains(b.String(), repair) {
			t.Errorf("the report lacks %q:\n%s", repair, b.String())
		}
	}
}

// TestRepairsOfErrorsFitOnTheirLine keeps the texts of rules short enough for a
// short report: what is wrong and what would do, on one line.
func TestRepairsOfErrorsFitOnTheirLine(t *testing.T) {
	for _, rule := range check.Rules() {
		examples, err := rule.Examples()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range examples {
			if e.Holds || rule.Severity < check.Error {
				continue
			}
			f := check.Finding{Rule: rule.ID, Title: rule.Title, Severity: rule.Severity, Subject: "a", Evidence: e.Evidence, Remedy: e.Remedy}
			var b bytes.Buffer
			if err := report.Brief(&b, &check.Report{Findings: []check.Finding{f}}, false, 0); err != nil {
				t.Fatal(err)
			}
			if found, _, _ := strings.Cut(b.String(), "\n\n"); strings.Count(found, "\n") != 1 {
				t.Errorf("%s %s takes more than two lines:\n%s", rule.ID, e.Name, found)
			}
		}
	}
}

func TestTheRepairedSetsPass(t *testing.T) {
	for _, dir := range []string{"inc1187-repaired", "outage24-repaired", "sixpods-repaired", "twentypods-repaired"} {
		t.Run(dir, func(t *testing.T) {
			r := checkDir(t, dir, check.Options{})
			if worst, found := r.Worst(); found && worst > check.Info || len(r.Broken) > 0 {
				var b bytes.Buffer
				if err := report.Text(&b, r, false); err != nil {
					t.Fatal(err)
				}
				t.Errorf("the repaired set has findings:\n%s", b.Bytes())
			}
		})
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the output differs from %s, which -update writes anew:\n%s", path, got)
	}
}
