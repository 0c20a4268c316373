package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

func briefOf(t *testing.T, r *check.Report, colour bool, width int) string {
	t.Helper()
	var b bytes.Buffer
	if err := Brief(&b, r, colour, width); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestBriefSaysWhatIsWrongAndWhatWouldDo(t *testing.T) {
	want := `unreadable c.yaml:3: mapping values are not allowed
error C01 a,b.yaml:7 pool below Little's floor: card-processor
      60 of 144: 58.33% | lost → 24 or more
info O10 the detector can not trip → less

1 error, 0 warnings, 1 note; 1 rule holds, 2 without the numbers they need; 1 ignored
what does not read is not checked, so findings may be missing: exit code 2
offtake check -v shows every finding in full, offtake explain C01 what the rule means
`
	if got := briefOf(t, sample(), false, 0); got != want {
		t.Errorf("Brief = %s, want %s", got, want)
	}
	if got := briefOf(t, &check.Report{}, false, 0); got != "0 errors, 0 warnings, 0 notes; 0 rules hold, 0 without the numbers they need\n" {
		t.Errorf("Brief of nothing = %q, want the count alone", got)
	}
}

// many has errors of one rule in as many places, one of which has another too.
func many(n int) *check.Report {
	r := &check.Report{}
	for i := range n {
		at := manifest.Ref{File: "deploy/mesh.yaml", Line: 10 * (i + 1)}
		r.Findings = append(r.Findings, check.Finding{Rule: "T03", Title: "a hop without a timeout", Severity: check.Error, Subject: fmt.Sprintf("upstream-%d", i), Ref: at, Evidence: "timeouts [program 0 s]", Remedy: "a timeout"})
	}
	last := r.Findings[n-1]
	last.Rule, last.Title = "T06", "a hung host is invisible"
	r.Findings = append(r.Findings, last)
	for i := range n {
		r.Findings = append(r.Findings, check.Finding{Rule: "C09", Title: "a small idle pool", Severity: check.Warning, Subject: fmt.Sprintf("upstream-%d", i), Ref: manifest.Ref{File: "a", Line: i + 1}, Evidence: "2", Remedy: "3"})
	}
	return r
}

func TestBriefPutsThePlaceWithMostErrorsFirst(t *testing.T) {
	lines := strings.Split(briefOf(t, many(3), false, 0), "\n")
	if !strings.HasPrefix(lines[0], "error T03 deploy/mesh.yaml:30 ") || !strings.HasPrefix(lines[2], "error T03 deploy/mesh.yaml:10 ") {
		t.Errorf("Brief begins %q and %q, want the place that has two errors first, then the order of places", lines[0], lines[2])
	}
}

func TestBriefBeginsWithWhatIsWrongWithTheInput(t *testing.T) {
	r := many(3)
	r.Findings = append(r.Findings, check.Finding{Rule: "P01", Title: "a field that does not exist", Severity: check.Error, Subject: "Deployment/a", Evidence: "x", Remedy: "y"})
	if got := briefOf(t, r, false, 0); !strings.HasPrefix(got, "error P01 a field that does not exist: Deployment/a\n") {
		t.Errorf("Brief = %s, want the field first: the others may follow from it", got)
	}
}

func TestBriefNamesThePlacesOfWhatItDoesNotRepeat(t *testing.T) {
	got := briefOf(t, many(6), false, 0)
	if !strings.Contains(got, "\n      and 3 more of T03: deploy/mesh.yaml:30, deploy/mesh.yaml:40, deploy/mesh.yaml:50\n") || !strings.Contains(got, "\nwarning C09 a:1 a small idle pool (and 5 more) → 3\n") {
		t.Errorf("Brief = %s, want three errors of a rule, the places of the others, and one line for all its warnings", got)
	}
	if n := strings.Count(briefOf(t, many(500), false, 0), "\n"); n > 13 {
		t.Errorf("Brief of 500 places with the same mistakes has %d lines, want 13 at most", n)
	}
}

func TestBriefKeepsToItsWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 132} {
		for line := range strings.Lines(briefOf(t, many(9), false, width)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("with a width of %d a line has %d columns: %s", width, n, line)
			}
		}
	}
}

func TestBriefKeepsTheNumbersAndLeavesOutWhatExplainsThem(t *testing.T) {
	f := check.Finding{
		Rule: "T06", Severity: check.Error, Evidence: "proxy timeout 0 s (of the route), app deadline 2 s: the caller cancels first, a downstream reset is not an error",
		Remedy: "a per-try timeout below 2 s, so that it records the 504, or a shorter one; or none",
	}
	for width, want := range map[int]string{
		250: f.Evidence + " → " + f.Remedy,
		100: "proxy timeout 0 s, app deadline 2 s → a per-try timeout below 2 s, so that it records the 504",
		80:  "proxy timeout 0 s, app deadline 2 s → a per-try timeout below 2 s",
	} {
		if got := briefOf(t, &check.Report{Findings: []check.Finding{f}}, false, width); !strings.Contains(got, "\n      "+want+"\n") {
			t.Errorf("Brief in %d columns = %s, want the line %q", width, got, want)
		}
	}
}

func TestBriefNamesTheRulesThatTheVersionDecides(t *testing.T) {
	r := sample()
	r.Findings[0].Depends = true
	if got := briefOf(t, r, false, 0); !strings.Contains(got, "the control plane's version is not known, and decides C01; -mesh-version 1.29 would do\n") {
		t.Errorf("Brief = %s, want the flag that would settle C01", got)
	}
}

func TestANoteIsShown(t *testing.T) {
	r := &check.Report{Notes: []string{"no pods\x1b"}}
	var b bytes.Buffer
	if err := Text(&b, r, false); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{b.String(), briefOf(t, r, false, 0)} {
		if !strings.HasSuffix(text, "need\nno pods \n") && !strings.HasSuffix(text, "need\nno pods\n") {
			t.Errorf("the report = %q, want the note at its end", text)
		}
	}
}

func TestBriefInColourOnlyAddsEscapes(t *testing.T) {
	escape := regexp.MustCompile(`\x1b\[[0-9;]*m`)
	for _, width := range []int{0, 40, 60} { // at some of which lines are wrapped
		for _, r := range []*check.Report{sample(), many(5)} {
			if got, want := escape.ReplaceAllString(briefOf(t, r, true, width), ""), briefOf(t, r, false, width); got != want {
				t.Errorf("coloured text without its escapes = %q, want %q", got, want)
			}
		}
	}
}

func TestBriefCutsNothingWhereNoTerminalIs(t *testing.T) {
	r := many(40)
	for i := range r.Findings {
		r.Findings[i].Subject = strings.Repeat("long-", 30) + r.Findings[i].Subject
	}
	got := briefOf(t, r, false, 0)
	if strings.Contains(got, "…") || !strings.Contains(got, "deploy/mesh.yaml:390") {
		t.Errorf("Brief = %s, want every place: what reads it may be a program", got)
	}
	if !strings.Contains(briefOf(t, r, false, 100), "…") {
		t.Error("Brief on a terminal cuts nothing, so this tests nothing")
	}
}
