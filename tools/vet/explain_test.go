package vet_test

import (
	"os"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/tools/vet"
)

func TestEveryRuleHasItsPage(t *testing.T) {
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range vet.Rules() {
		page := r.Explain()
		for _, want := range []string{"\nBad:\n", "\nGood:\n", "\nFix: "} {
			if !strings.Contains(page, want) {
				t.Errorf("%s.Explain() = %q, want it to contain %q", r.ID, page, want)
			}
		}
		if strings.HasPrefix(page, "Bad:") {
			t.Errorf("%s.Explain() starts with its example, want why first", r.ID)
		}
		if !strings.Contains(string(doc), page) {
			t.Errorf("%s.Explain() differs from %s", r.ID, docFile)
		}
	}
}

func TestRulesAreFoundInEitherCase(t *testing.T) {
	for id, want := range map[string]bool{"OT101": true, "ot101": true, "OT999": false, "": false} {
		if _, ok := vet.RuleOf(id); ok != want {
			t.Errorf("RuleOf(%q) = %t, want %t", id, ok, want)
		}
	}
}
