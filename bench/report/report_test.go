package report

import (
	"bytes"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/bench/measure"
)

var update = flag.Bool("update", false, "write the documents and the pages of the committed results")

// committed is where the results are that the documents speak of.
const committed = "../results"

// documents have tables of them.
var documents = []string{"../../README.md", "../../docs/cost.md", "../../docs/comparison.md"}

func TestTheDocumentsHaveTheTablesOfTheCommittedResults(t *testing.T) {
	r, err := Read(committed)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range documents {
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := r.Fill(got)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if bytes.Equal(got, want) {
			continue
		}
		if !*update {
			t.Errorf("%s has other figures than the committed results; run this test with -update", name)
		} else if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestThePagesAreThoseOfTheCommittedResults(t *testing.T) {
	r, err := Read(committed)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := r.Write(committed); err != nil {
			t.Fatal(err)
		}
	}
	again := t.TempDir()
	if err := r.Write(again); err != nil {
		t.Fatal(err)
	}
	want := os.DirFS(again)
	err = fs.WalkDir(want, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		wanted, err := fs.ReadFile(want, name)
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(filepath.Join(committed, name)); err != nil || !bytes.Equal(got, wanted) {
			t.Errorf("results/%s is not what its results.json has (%v); run this test with -update", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTheCommittedResultsAreWhole: a part that was left out would leave its tables
// empty.
func TestTheCommittedResultsAreWhole(t *testing.T) {
	r, err := Read(committed)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range r.Tables() {
		if len(table.Rows) == 0 {
			t.Errorf("table %q has no row", table.Name)
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Head) {
				t.Errorf("table %q has %d cells in row %q, want %d", table.Name, len(row), row[0], len(table.Head))
			}
		}
	}
}

func TestARunOfAPartSaysNothingOfTheRest(t *testing.T) {
	r := &Report{Recovery: []measure.Recovery{{Name: "net/http", Bump: 120, Seconds: -1, Watched: 60}, {Name: "offtake", Bump: 120, Seconds: 1}}}
	got := r.Markdown()
	for _, want := range []string{"## In short", "| well again after a latency bump | not in 60 s | – | – | 1.0 s |", "| latency bump |"} {
		if !strings.Contains(got, want) {
			t.Errorf("Markdown() does not contain %q:\n%s", want, got)
		}
	}
	for _, other := range []string{"## What a call costs", "## Crowds", "goodput", "query of death"} {
		if strings.Contains(got, other) {
			t.Errorf("Markdown() contains %q, which was not measured:\n%s", other, got)
		}
	}
}

func TestADocumentMayAskForTheReportInAFolder(t *testing.T) {
	dir := t.TempDir()
	whole := &Report{Death: []measure.Death{{Name: "offtake", Requests: 2}}}
	part := &Report{Death: []measure.Death{{Name: "offtake", Requests: 3}}}
	if err := errors.Join(whole.Write(dir), part.Write(filepath.Join(dir, "again"))); err != nil {
		t.Fatal(err)
	}
	r, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Fill([]byte("<!-- bench: begin again/query-of-death -->\n<!-- bench: end -->"))
	if err != nil || !bytes.Contains(got, []byte("| offtake | 0 | 3 |")) {
		t.Errorf("Fill() = %s, %v; want the 3 of the folder", got, err)
	}
}

func TestFillPutsTablesBetweenTheirComments(t *testing.T) {
	r := &Report{Death: []measure.Death{{Name: "offtake", Warm: 50, Requests: 2}}}
	const document = "before\n<!-- bench: begin query-of-death -->\nold\n<!-- bench: end -->\nafter\n"
	const want = "before\n<!-- bench: begin query-of-death -->\n| query of death | warm connections | times it was sent |\n|---|---:|---:|\n| offtake | 50 | 2 |\n<!-- bench: end -->\nafter\n"
	for _, from := range []string{document, want} { // it settles
		if got, err := r.Fill([]byte(from)); err != nil || string(got) != want {
			t.Errorf("Fill(%q) = %q, %v; want %q", from, got, err, want)
		}
	}
	for what, document := range map[string]string{
		"no comment":    "text",
		"no such table": "<!-- bench: begin nothing -->\n<!-- bench: end -->",
		"no end":        "<!-- bench: begin run -->\n",
		"no name":       "<!-- bench: begin ",
	} {
		if got, err := r.Fill([]byte(document)); err == nil {
			t.Errorf("Fill(%s) = %q, want an error", what, got)
		}
	}
}

func TestARankingNamesWhoIsAhead(t *testing.T) {
	r := &Report{
		Recovery: []measure.Recovery{{Name: "offtake", Seconds: 4}, {Name: "failsafe-go, four policies", Seconds: 1}, {Name: "slow", Seconds: -1}},
		Death:    []measure.Death{{Name: "offtake", Requests: 2}, {Name: "other", Requests: 51}},
	}
	got := r.ranked()
	if len(got) != 2 {
		t.Fatalf("ranked() = %+v, want two rows", got)
	}
	if k := got[0]; k.Winner != "failsafe-go, four policies" || k.Why == "" || k.Ours != "4.0 s" || k.Best != "1.0 s (failsafe-go, four policies)" {
		t.Errorf("ranked(recovery) = %+v, want failsafe-go to be ahead with 1.0 s, and why", k)
	}
	r.Recovery[1].Name = "quick"
	if k := r.ranked()[0]; k.Winner != "quick" || k.Why != "" {
		t.Errorf("ranked(recovery) = %+v, want quick to be ahead, and no reason that is another's", k)
	}
	if k := got[1]; k.Winner != "" || k.Why != "" {
		t.Errorf("ranked(query of death) = %+v, want nobody ahead", k)
	}
}

func TestAMissedTargetIsCalledSo(t *testing.T) {
	r := &Report{
		Layer:    []measure.Cost{{Name: "net/http", P25: 1000, Allocs: 11}, {Name: "offtake", P25: 2600, Allocs: 16, AllocsOver: 5}},
		Overload: []measure.Overload{{Name: "offtake", Offered: 2, Goodput: 0.96}},
	}
	want := [][]string{{"+1.60 µs (min +0.00)", "no"}, {"+5", "yes"}, {"96 %", "yes"}}
	got := r.targets().Rows
	if len(got) != len(want) {
		t.Fatalf("targets() = %q, want %d rows", got, len(want))
	}
	for i, row := range got {
		if row[1] != want[i][0] || row[2] != want[i][1] {
			t.Errorf("targets()[%d] = %q, want it to end in %q", i, row, want[i])
		}
	}
}

// TestEveryTargetCanBeMissed has a figure just beyond each.
func TestEveryTargetCanBeMissed(t *testing.T) {
	cost := func(allocs float64) []measure.Cost {
		return []measure.Cost{{Name: "bare"}, {Name: "offtake", P25: 1501, AllocsOver: allocs}}
	}
	r := &Report{
		Layer: cost(8.6), Doors: cost(1.6), GRPC: cost(1.6),
		Scaling:  []measure.Scaling{{Name: "offtake's gate", Allocs: 0.6}, {Name: "offtake's retry budget", Allocs: 0.6}},
		Overload: []measure.Overload{{Name: "offtake", Offered: 2, Goodput: 0.949, P99: 40}, {Name: "other", Offered: 2, Goodput: 1, P99: 20}},
		Outage:   []measure.Outage{{Name: "offtake", One: 1.26, Three: 1.96}},
	}
	got := r.targets()
	if len(got.Rows) != 10 {
		t.Fatalf("targets() = %q, want 10 rows", got.Rows)
	}
	for _, row := range got.Rows {
		if row[2] != "no" {
			t.Errorf("target %q with %s is met, want it missed", row[0], row[1])
		}
	}
}

func TestAP99OfNothingIsNotTheBest(t *testing.T) {
	r := &Report{Overload: []measure.Overload{{Name: "offtake", Offered: 2, Goodput: 1, P99: 40}, {Name: "none is good", Offered: 2}}}
	for _, k := range r.ranked() {
		if k.Winner != "" {
			t.Errorf("ranked() has %+v, want nobody ahead by having no good call", k)
		}
	}
}

func TestThePageNeedsNothingElse(t *testing.T) {
	r, err := Read(committed)
	if err != nil {
		t.Fatal(err)
	}
	page, err := r.HTML()
	if err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{"src=", "href=", "@import", "url(", "<script"} {
		if bytes.Contains(page, []byte(outside)) {
			t.Errorf("the page contains %s, want one that loads nothing", outside)
		}
	}
	if got, want := bytes.Count(page, []byte("<svg")), len(r.figures()); got != want || want < 10 {
		t.Errorf("the page has %d plots, want %d, and more than 10", got, want)
	}
	if strings.Contains(string(page), "NaN") || strings.Contains(string(page), "Inf") {
		t.Error("the page has a place that is no number")
	}
}

func TestPlotsPutFiguresWhereTheyBelong(t *testing.T) {
	log := plot{log: true}
	at := log.scale(1, 100)
	for v, want := range map[float64]float64{0: plotLeft, 1: plotLeft, 10: (plotLeft + plotRight) / 2, 100: plotRight} {
		if got := at(v); got != want {
			t.Errorf("log scale(%g) = %g, want %g", v, got, want)
		}
	}
	if got := log.marksOfAxis(0.9, 12); len(got) != 4 || got[0] != 1 || got[3] != 10 {
		t.Errorf("ticks of a log axis = %v, want 1 2 5 10", got)
	}
	linear := plot{}
	if got := linear.scale(0, 50)(25); got != (plotLeft+plotRight)/2 {
		t.Errorf("scale(25 of 50) = %g, want %g", got, (plotLeft+plotRight)/2)
	}
	if got := linear.marksOfAxis(0, 45); len(got) != 5 || got[4] != 40 {
		t.Errorf("ticks of an axis = %v, want 0 10 20 30 40", got)
	}
	if got := (plot{}).SVG(); got != "" {
		t.Errorf("a plot of nothing = %q, want none", got)
	}
}
