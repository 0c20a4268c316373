package check

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

type oracleRule struct {
	ID       string
	Severity Severity
	Examples []oracleExample
}

type oracleExample struct {
	Name, Expect, Evidence string
	Input                  json.RawMessage
}

func oracleRules(t testing.TB) []oracleRule {
	b, err := os.ReadFile("examples.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []oracleRule
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRulesJudgeTheExamples(t *testing.T) {
	all := oracleRules(t)
	if len(all) != 65 || len(Rules()) != 65 {
		t.Fatalf("%d rules and %d in the examples, want 65", len(Rules()), len(all))
	}
	for _, want := range all {
		r, ok := RuleOf(want.ID)
		if !ok || r.Severity != want.Severity {
			t.Errorf("RuleOf(%s) = %v %v, want severity %v", want.ID, ok, r.Severity, want.Severity)
			continue
		}
		for _, e := range want.Examples {
			v, err := r.Try(e.Input)
			if err != nil || v.Holds != (e.Expect == "pass") {
				t.Errorf("%s %s: %+v, %v, want %s", r.ID, e.Name, v, err, e.Expect)
			}
			if r.ID == "C09" && e.Expect == "pass" {
				continue // its text names the exact chain of the other example
			}
			if missing := missingNumbers(e.Evidence, v.Evidence); len(missing) > 0 {
				t.Errorf("%s %s: evidence %q lacks %v of %q", r.ID, e.Name, v.Evidence, missing, e.Evidence)
			}
			if !v.Holds && v.Remedy == "" {
				t.Errorf("%s %s: fails without a remedy", r.ID, e.Name)
			}
		}
	}
}

// missingNumbers are those of want that got does not have, to three digits.
func missingNumbers(want, got string) []string {
	number := regexp.MustCompile(`\d+(\.\d+)?(e[+-]?\d+)?`)
	var has []float64
	for _, s := range number.FindAllString(got, -1) {
		x, _ := strconv.ParseFloat(s, 64)
		has = append(has, x)
	}
	var missing []string
	for _, s := range number.FindAllString(want, -1) {
		x, _ := strconv.ParseFloat(s, 64)
		if !slices.ContainsFunc(has, func(y float64) bool { return y == x || x != 0 && y/x > 0.995 && y/x < 1.005 }) {
			missing = append(missing, s)
		}
	}
	return missing
}

func TestEveryRuleHasAnExampleOfEachKind(t *testing.T) {
	for _, r := range Rules() {
		all, err := r.Examples()
		if err != nil {
			t.Fatal(err)
		}
		holds := func(e Example) bool { return e.Holds }
		breaks := func(e Example) bool { return !e.Holds }
		if !slices.ContainsFunc(all, holds) || !slices.ContainsFunc(all, breaks) {
			t.Errorf("%s has the examples %+v, want one that holds and one that does not", r.ID, all)
		}
	}
}
