package simreport

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const incident, twin = "testdata/brown-out.yaml", "testdata/brown-out-repaired.yaml"

func simulateWith(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = Run(t.Context(), append(args, "--seeds", "2"), &out, &errs)
	return code, out.String(), errs.String()
}

func TestSummaryTellsTheStoryInATerminal(t *testing.T) {
	code, out, errs := simulateWith(t, incident, "--against", twin)
	if code != 0 || errs != "" {
		t.Fatalf("Run = %d with %q, want 0", code, errs)
	}
	for _, want := range []string{
		"Two seconds that last one minute\n─────",
		"nearly all by: no healthy replica.",
		"1m11s → a replica is ejected",
		"proxy.outlier.baseEjection               1m0s → 20s",
		"most replicas ejected at once",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the summary lacks %q:\n%s", want, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := len([]rune(line)); n > 110 {
			t.Errorf("a line has %d characters: %s", n, line)
		}
	}
}

func TestTextOfAScenarioCanNotControlATerminal(t *testing.T) {
	scenario, err := os.ReadFile(incident)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	pool, err := os.ReadFile("testdata/contract.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("name: Two", `name: "Two\e[2J\n::error::`, "one minute\nabout", "one minute\"\nabout", "note: it is back", `note: "it \e]0;is\a back"`).Replace(string(scenario))
	for name, data := range map[string][]byte{"s.yaml": []byte(text), "contract.yaml": pool} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := simulateWith(t, filepath.Join(folder, "s.yaml"))
	if code != 0 || !strings.HasPrefix(out, "Two [2J ::error:: seconds") {
		t.Fatalf("Run = %d with %q and %q, want the name on its line", code, out, errs)
	}
	if strings.ContainsAny(out, "\x1b\a") {
		t.Errorf("the summary has escape codes: %q", out)
	}
}

func TestJSONHasEverything(t *testing.T) {
	code, out, errs := simulateWith(t, "--format", "json", incident, "--sweep", "baseEjection=10s,20s")
	if code != 0 {
		t.Fatalf("Run = %d with %q, want 0", code, errs)
	}
	var report Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatal(err)
	}
	switch {
	case len(report.Played) != 1 || len(report.Played[0].Results) != 2 || report.Played[0].Results[1].Seed != 1:
		t.Errorf("the report has %d scenarios, want one with seeds 0 and 1", len(report.Played))
	case len(report.Played[0].Results[0].Series) < 13 || report.Played[0].Results[0].Calls.Failed == nil:
		t.Errorf("the first result lacks series or causes: %+v", report.Played[0].Results[0].Calls)
	case report.Sweep.Key != "proxy.outlier.baseEjection" || len(report.Sweep.Rows) != 2 || len(report.Sweep.Rows[1]) != 2:
		t.Errorf("the sweep is %s with %d rows, want proxy.outlier.baseEjection with 2 of 2 seeds", report.Sweep.Key, len(report.Sweep.Rows))
	}
}

func TestPageStandsAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.html")
	code, _, errs := simulateWith(t, incident, "--against", twin,
		"--html", path, "--sweep", "proxy.outlier.maxEjectionPercent=20..60/20")
	if code != 0 {
		t.Fatalf("Run = %d with %q, want 0", code, errs)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	html := string(b)
	if loads := regexp.MustCompile(`(?i)\b(src|href)=|https?:|@import|url\(`).FindString(html); loads != "" {
		t.Errorf("the page loads something: %s", loads)
	}
	for _, wrong := range []string{"ZgotmplZ", "NaN", "Inf", "<no value>", "%!"} {
		if strings.Contains(html, wrong) {
			t.Errorf("the page has %q in it", wrong)
		}
	}
	pictures := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(html, -1)
	if len(pictures) < 13 {
		t.Errorf("the page has %d charts, want at least 13", len(pictures))
	}
	for _, svg := range pictures {
		d := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(svg, " hidden/>", "/>")))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("a chart is not well formed: %v", err)
			}
		}
	}
	if n := strings.Count(html, `tabindex="0"`); n != len(pictures) {
		t.Errorf("%d of %d charts can be reached by keyboard, want all", n, len(pictures))
	}
}

// The texts of a scenario are someone's words, not part of the page.
func TestPageEscapesTheScenario(t *testing.T) {
	dir := t.TempDir()
	contract := "service: a\nreplicas: {min: 1}\nupstreams: {b: {target: https://b.example, rate: 10/s, latency: 10ms}}\n"
	file := "name: \"<script>alert(1)</script>\"\nabout: \"</style><b>\"\ncontract: {file: c.yaml}\nduration: 10s\nevents: [{at: 61s, note: \"<i onclick='x'>\", hang: 100%}]\n"
	for name, text := range map[string]string{"c.yaml": contract, "s.yaml": file} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "r.html")
	if code, _, errs := simulateWith(t, filepath.Join(dir, "s.yaml"), "--html", out); code != 0 {
		t.Fatalf("Run = %d with %q, want 0", code, errs)
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, raw := range []string{"<script>alert", "</style><b>", "<i onclick"} {
		if bytes.Contains(b, []byte(raw)) {
			t.Errorf("the page has %q unescaped", raw)
		}
	}
}

func TestMistakesOfArgumentsAndFilesAreUsageErrors(t *testing.T) {
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, "0 scenarios are given; one would do"},
		{[]string{"a.yaml", "b.yaml"}, "2 scenarios are given"},
		{[]string{"a.yaml", "--format", "xml"}, `--format "xml" is not known`},
		{[]string{"missing.yaml", "--against", "gone.yaml"}, "missing.yaml"},
		{[]string{"missing.yaml", "--against", "gone.yaml"}, "gone.yaml"},
		{[]string{incident, "--sweep", "maxEjectionPercnt=1..2/1"}, `no key "maxEjectionPercnt"`},
		{[]string{incident, "--sweep", "maxEjectionPercent=50,150"}, "sweep: proxy.outlier.maxEjectionPercent=150: "},
		{[]string{"testdata/contract.yaml"}, "contract: it is required"},
		{[]string{"--bogus"}, "flag provided but not defined: -bogus"},
	} {
		code, out, errs := simulateWith(t, test.args...)
		if code != 2 || out != "" || !strings.Contains(errs, test.want) {
			t.Errorf("Run(%q) = %d with %q on stderr, want 2 with %q", test.args, code, errs, test.want)
		}
	}
	if code, _, errs := simulateWith(t, "--help"); code != 0 || !strings.Contains(errs, "usage: offtake simulate") {
		t.Errorf("Run(--help) = %d with %q, want 0 with the usage", code, errs)
	}
}

func TestWhatCanNotBeWrittenFails(t *testing.T) {
	code, _, errs := simulateWith(t, incident, "--html", filepath.Join(t.TempDir(), "no", "such", "folder.html"))
	if code != 1 || !strings.Contains(errs, "folder.html") {
		t.Errorf("Run = %d with %q, want 1 with the file that can not be written", code, errs)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("interrupted"))
	var out, errs bytes.Buffer
	if code := Run(ctx, []string{incident}, &out, &errs); code != 1 || out.Len() != 0 || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("Run = %d with %q, want 1 with the cause", code, errs.String())
	}
}
