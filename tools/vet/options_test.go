package vet_test

import (
	"strings"
	"testing"

	"github.com/offtake-go/offtake/tools/vet"
)

func TestNamesEveryMistakeInOptions(t *testing.T) {
	_, err := vet.New(&vet.Options{
		Profiles:     []string{"strict", "lax"},
		Factories:    []string{"./clients"},
		Disable:      []string{"OT999", "OT001"},
		Constructors: []string{"example.com/lib"},
	})
	if err == nil {
		t.Fatal("New(bad options) = nil error, want one that names all five mistakes")
	}
	for _, want := range []string{`"lax", want bugs, strict or advice`, `"./clients" is no import path`, `no rule "OT999"`, "OT001 can not be disabled", `"example.com/lib" is no function`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New(bad options) = %q, want it to contain %q", err, want)
		}
	}
}

func TestFlagsAreTheSettings(t *testing.T) {
	a := newAnalyzer(t, nil)
	for name, value := range map[string]string{
		"profile": "strict,advice", "factory": "example.com/clients/...", "disable": "OT501,OT104",
		"third-party": "example.com/lib.NewClient", "tests": "true",
	} {
		if err := a.Flags.Set(name, value); err != nil {
			t.Errorf("Flags.Set(%q, %q) = %v, want nil", name, value, err)
		}
	}
	if err := a.Flags.Set("profile", "lax,loose"); err == nil || strings.Count(err.Error(), "want bugs") != 2 {
		t.Errorf("Flags.Set(profile, lax,loose) = %v, want both mistakes", err)
	}
}

func TestSetRefusesWhatIsNoSetting(t *testing.T) {
	var o vet.Options
	for _, setting := range [][2]string{{"colour", "blue"}, {"tests", "perhaps"}, {"disable", "OT5"}} {
		if err := o.Set(setting[0], setting[1]); err == nil {
			t.Errorf("Set(%q, %q) = nil, want an error", setting[0], setting[1])
		}
	}
}

func TestRuleIDsAreOrderedAndOnce(t *testing.T) {
	last := ""
	for _, r := range vet.Rules() {
		if r.ID <= last {
			t.Errorf("rule %s follows %s, want ascending IDs", r.ID, last)
		}
		last = r.ID
	}
}
