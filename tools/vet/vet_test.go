package vet_test

import (
	"testing"

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
		"ot301", "ot302", "ot402", "ot501", "ot601/a", "ot601/b", "ot701", "ot801")
}

// What a fix writes must compile, and is compared with the golden files.
func TestReportsPolicyAndAdviceAndFixes(t *testing.T) {
	opts := &vet.Options{Profiles: []string{"strict", "advice"}, Factories: []string{"fixes/..."}, Disable: []string{"OT501"}}
	analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), newAnalyzer(t, opts),
		"strict", "strict/clients", "strict/user", "suppress", "advice", "fixes")
}
