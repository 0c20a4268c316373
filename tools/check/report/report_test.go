package report

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// sample has what formats must escape.
func sample() *check.Report {
	return &check.Report{
		Findings: []check.Finding{
			{
				Rule: "C01", Title: "pool below Little's floor", Severity: check.Error, Subject: "card-processor", Ref: manifest.Ref{File: "a,b.yaml", Line: 7},
				Evidence: "60 of 144: 58.33% | lost", Remedy: "24 or more", Scale: check.Scale{Have: 60, Need: 144, Unit: "in flight"}, Detail: "needs >= 24\nallows <= 33\n",
			},
			{Rule: "O10", Title: "the detector can not trip", Severity: check.Info, Subject: "x", Evidence: "k=20", Remedy: "less"},
		},
		Contract: "my offtake#1.yaml", Held: []string{"C03"}, Unknown: []string{"T07", "T08"}, Ignored: 1,
		Broken: []manifest.Problem{{Ref: manifest.Ref{File: "c.yaml", Line: 3}, Text: "mapping values\nare not allowed"}},
	}
}

func TestTextShowsEvidenceAndRemedy(t *testing.T) {
	var b bytes.Buffer
	if err := Text(&b, sample(), false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"unreadable c.yaml:3: mapping values",
		"error C01 pool below Little's floor\n  card-processor  a,b.yaml:7\n  60 of 144: 58.33% | lost\n",
		"█████████████████░░░░░░░░░░░░░░░░░░░░░░░ 60 of 144 in flight",
		"  would do: 24 or more\n    needs >= 24\n    allows <= 33\n",
		"info O10",
		"1 error, 0 warnings, 1 note; 1 rule holds, 2 without the numbers they need; 1 ignored",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("Text lacks %q:\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "\x1b") {
		t.Error("plain text has escape codes")
	}
}

func TestColourOnlyAddsEscapes(t *testing.T) {
	var plain, colour bytes.Buffer
	if err := Text(&plain, sample(), false); err != nil {
		t.Fatal(err)
	}
	if err := Text(&colour, sample(), true); err != nil {
		t.Fatal(err)
	}
	stripped := colour.String()
	for {
		i := strings.Index(stripped, "\x1b[")
		if i < 0 {
			break
		}
		stripped = stripped[:i] + stripped[i+strings.IndexByte(stripped[i:], 'm')+1:]
	}
	if stripped != plain.String() {
		t.Errorf("coloured text without its escapes = %q, want %q", stripped, plain.String())
	}
}

func TestJSONCarriesEverything(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, sample()); err != nil {
		t.Fatal(err)
	}
	var got jsonReport
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Findings) != 2 || got.Findings[0].Line != 7 || got.Findings[1].Severity != check.Info || len(got.Unreadable) != 1 || got.Ignored != 1 {
		t.Errorf("JSON = %s", b.Bytes())
	}
	b.Reset()
	if err := JSON(&b, &check.Report{}); err != nil || !strings.Contains(b.String(), `"findings": []`) || !strings.Contains(b.String(), `"held": []`) {
		t.Errorf("JSON of an empty report = %s, %v, want empty lists and no null", b.Bytes(), err)
	}
}

func TestSARIFNamesItsRules(t *testing.T) {
	var b bytes.Buffer
	if err := SARIF(&b, sample(), "v1"); err != nil {
		t.Fatal(err)
	}
	var log sarifLog
	if err := json.Unmarshal(b.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	if log.Version != "2.1.0" || len(run.Tool.Driver.Rules) != len(check.Rules())+len(check.InputRules())+len(check.NetworkRules())+1 || len(run.Results) != 3 {
		t.Errorf("SARIF = %+v, want all rules and three results", log)
	}
	first, second := run.Results[0], run.Results[1]
	if first.Level != "error" || first.Locations[0].Physical.Region.StartLine != 7 || second.Level != "note" {
		t.Errorf("results = %+v and %+v, want an error at line 7 and a note", first, second)
	}
	if got := second.Locations[0].Physical.Artifact.URI; got != "my%20offtake%231.yaml" {
		t.Errorf("a finding without a place is at %q, want the contract, as a URI: code scanning refuses the log else", got)
	}
	for _, r := range run.Results {
		if !slices.ContainsFunc(run.Tool.Driver.Rules, func(rule sarifRule) bool { return rule.ID == r.RuleID }) {
			t.Errorf("the result %s has no rule in the log", r.RuleID)
		}
	}
	if first.Fingerprints["ruleAndSubject/v1"] != "C01/card-processor" {
		t.Errorf("fingerprint = %v, want rule and subject", first.Fingerprints)
	}
}

func TestGitHubEscapesItsCommands(t *testing.T) {
	var b bytes.Buffer
	if err := GitHub(&b, sample()); err != nil {
		t.Fatal(err)
	}
	want := `::error file=c.yaml,line=3,title=unreadable::mapping values%0Aare not allowed
::error file=a%2Cb.yaml,line=7,title=C01 pool below Little's floor::card-processor: 60 of 144: 58.33%25 | lost%0Awould do: 24 or more
::notice title=O10 the detector can not trip::x: k=20%0Awould do: less
`
	if !strings.HasPrefix(b.String(), want) {
		t.Errorf("GitHub = %s, want %s", b.String(), want)
	}
}

func TestEveryFormatHasTheNotes(t *testing.T) {
	r := &check.Report{Notes: []string{"no pods | are called a\x1b\n::error::b"}}
	for name, c := range map[string]struct {
		write func(io.Writer, *check.Report) error
		want  string
	}{
		"json":     {JSON, `"notes": [`},
		"sarif":    {func(w io.Writer, r *check.Report) error { return SARIF(w, r, "v1") }, `"toolExecutionNotifications": [`},
		"github":   {GitHub, "::notice title=offtake check::no pods | are called a"},
		"markdown": {Markdown, "\n\n- no pods \\| are called a"},
	} {
		var b bytes.Buffer
		if err := c.write(&b, r); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), c.want) || strings.ContainsAny(b.String(), "\x1b") || strings.Contains(b.String(), "\n::error") {
			t.Errorf("%s = %s, want %q in it, and the note on one line", name, b.String(), c.want)
		}
	}
}

func TestACommandMarksNoLineOfStandardInput(t *testing.T) {
	at := manifest.Ref{File: "-", Line: 3}
	r := &check.Report{Broken: []manifest.Problem{{Ref: at, Text: "x"}}, Findings: []check.Finding{{Rule: "C01", Severity: check.Error, Ref: at}}}
	var b bytes.Buffer
	if err := GitHub(&b, r); err != nil || strings.Contains(b.String(), "file=") {
		t.Errorf("GitHub = %s, %v, want no file", b.String(), err)
	}
}

func TestMarkdownKeepsItsTable(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, sample()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| error | unreadable | c.yaml:3 | mapping values are not allowed | |",
		"| error | **C01** pool below Little's floor | card-processor (a,b.yaml:7) | 60 of 144: 58.33% \\| lost | 24 or more |",
		"<details><summary>C01 card-processor</summary>",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("Markdown lacks %q:\n%s", want, b.String())
		}
	}
}

// hostile has a name that breaks out of its line, its cell and its element.
func hostile() *check.Report {
	return &check.Report{Findings: []check.Finding{{
		Rule: "P01", Title: "a field that does not exist", Severity: check.Error, Subject: "a\n::error::b\x1b[2J\u202e<i>`\\|[c](d)",
		Ref: manifest.Ref{File: "a\n::c::.yaml", Line: 1}, Evidence: "e\r\n::stop-commands::x", Remedy: "r\x1b]0;x", Detail: "d\x1b[2J\n",
	}}}
}

func TestNamesCanNotLeaveTheirLine(t *testing.T) {
	for name, write := range map[string]func(io.Writer, *check.Report) error{
		"text":     func(w io.Writer, r *check.Report) error { return Text(w, r, false) },
		"brief":    func(w io.Writer, r *check.Report) error { return Brief(w, r, false, 0) },
		"markdown": Markdown,
	} {
		var b bytes.Buffer
		if err := write(&b, hostile()); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "::") || strings.ContainsAny(line, "\x1b\r\u202e") {
				t.Errorf("%s has the line %q, want names kept on theirs", name, line)
			}
		}
	}
}

func TestWorkflowCommandsHaveNoEscapeCodes(t *testing.T) {
	var b bytes.Buffer
	if err := GitHub(&b, hostile()); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\r\u202e") || strings.Count(b.String(), "\n::") != 0 {
		t.Errorf("GitHub = %q, want one command and no control characters", b.String())
	}
}

func TestMarkdownShowsNamesAsTheyAre(t *testing.T) {
	var b bytes.Buffer
	if err := Markdown(&b, hostile()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"&lt;i>\\`\\\\\\|\\[c](d) (a ::c::.yaml:1) |", "::error::b [2J &lt;i&gt;`\\|[c](d)</summary>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("Markdown = %s, want %s in it", b.String(), want)
		}
	}
}
