package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// A Severity orders findings.
type Severity int

// From least to most.
const (
	Info Severity = iota
	Warning
	Error
)

// String writes info, warning or error.
func (s Severity) String() string { return [...]string{"info", "warning", "error"}[s] }

// UnmarshalText reads what String writes.
func (s *Severity) UnmarshalText(b []byte) error {
	for _, known := range []Severity{Info, Warning, Error} {
		if known.String() == string(b) {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("check: severity %q is not known; info, warning or error would do", b)
}

// MarshalText writes what String does.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A Verdict is what a rule says of one set of numbers.
type Verdict struct {
	Holds bool

	// Evidence is the condition with the numbers in it. Parentheses, and what stands
	// behind a colon, explain it; a short report goes without.
	Evidence string

	// Remedy is what would make it hold, with its number where one can be derived.
	// The first alternative is the one to try first.
	Remedy string

	// Scale compares two numbers where a picture of them helps; its zero value is
	// none.
	Scale Scale

	// Over is how many times what would fit there is, so that the worst of several
	// can be told; 0 where a rule has no such number.
	Over float64
}

// A Scale is what there is and what is needed, in one unit.
type Scale struct {
	Have, Need float64
	Unit       string
}

// A Place is what a verdict is about.
type Place struct {
	// Subject is an upstream, a caller or an object.
	Subject string

	// Ref is where to look first.
	Ref manifest.Ref

	// Era names the versions for which the numbers were derived; "" if the version
	// is known or does not matter.
	Era string
}

// A Rule is one condition that must hold.
type Rule struct {
	// ID is the letter of its family and a number: C capacity, T time, R retries, O
	// outlier detection, K Kubernetes, M monitoring.
	ID    string
	Title string

	Severity Severity

	// Breaks is the condition under which it fires.
	Breaks string

	// Source is where the condition comes from.
	Source string

	// Needs is what must be known for it to be checked.
	Needs string

	cases func(w *World) []instance
	try   func(example []byte) (Verdict, error)
}

// Try gives the rule numbers directly, as a JSON object.
func (r Rule) Try(numbers []byte) (Verdict, error) { return r.try(numbers) }

// instance is one application of a rule.
type instance struct {
	Place
	Verdict
}

// numbers is what a rule works on: a struct of the few values it needs.
type numbers interface {
	verdict() Verdict
}

// rule completes a Rule from the function that takes its numbers out of a world.
func rule[N numbers](r Rule, from func(w *World, emit func(Place, N))) Rule {
	r.cases = func(w *World) []instance {
		var all []instance
		from(w, func(p Place, n N) { all = append(all, instance{p, n.verdict()}) })
		return all
	}
	r.try = func(example []byte) (Verdict, error) {
		var n N
		if err := json.Unmarshal(example, &n); err != nil {
			return Verdict{}, fmt.Errorf("check: %s: %w", r.ID, err)
		}
		return n.verdict(), nil
	}
	return r
}

// RuleOf returns the rule with an ID in any case, among those of [Rules] and of
// [InputRules] and [NetworkRules].
func RuleOf(id string) (Rule, bool) {
	for _, r := range slices.Concat(Rules(), InputRules(), NetworkRules()) {
		if strings.EqualFold(r.ID, id) {
			return r, true
		}
	}
	return Rule{}, false
}

// holds is a verdict with its texts; the remedy is dropped if the condition holds.
func holds(ok bool, evidence, remedy string) Verdict {
	if ok {
		remedy = ""
	}
	return Verdict{Holds: ok, Evidence: evidence, Remedy: remedy}
}

// scaled adds a picture.
func (v Verdict) scaled(have, need float64, unit string) Verdict {
	v.Scale = Scale{have, need, unit}
	return v.over(need / have)
}

// over says how far it is from holding.
func (v Verdict) over(times float64) Verdict {
	v.Over = times
	return v
}
