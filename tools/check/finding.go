package check

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// A Finding is one condition that does not hold.
type Finding struct {
	Rule     string
	Title    string
	Severity Severity
	Subject  string
	Ref      manifest.Ref

	Evidence, Remedy string
	Scale            Scale

	// Depends says that the version of the control plane is not known and decides.
	Depends bool

	// Detail has several lines where one is not enough.
	Detail string
}

// The findings that are about the inputs and not about calls.
const (
	unreadField   = "P01"
	unmerged      = "P02"
	noSubset      = "P03"
	noCondition   = "P04"
	expiredIgnore = "I01"
	unusedIgnore  = "I02"
)

// InputRules returns the rules about the inputs. They work on no numbers, and are
// not among those of [Rules].
func InputRules() []Rule {
	return []Rule{
		{
			ID: expiredIgnore, Title: "an ignore has expired", Severity: Error,
			Breaks: "the last day of an ignore in the contract is over",
			Source: "what is accepted for a while must be looked at again", Needs: "an ignore",
		},
		{
			ID: unusedIgnore, Title: "an ignore covers nothing", Severity: Warning,
			Breaks: "no finding has the rule and the subject of an ignore",
			Source: "it would hide the next one", Needs: "an ignore",
		},
		{
			ID: unreadField, Title: "a field that does not exist", Severity: Error,
			Breaks: "a manifest has a field that its type does not have",
			Source: "the control plane drops it, and a default is in force", Needs: "a manifest",
		},
		{
			ID: unmerged, Title: "a DestinationRule of which not all is in force", Severity: Warning,
			Breaks: "several DestinationRules have one host, and more than one of them a trafficPolicy, or the same subset, or one a workloadSelector",
			Source: "Istio's mergeDestinationRule: the oldest is in force, and adds only the subsets of the others", Needs: "two DestinationRules",
		},
		{
			ID: noSubset, Title: "a route to a subset that there is not", Severity: Error,
			Breaks: "a route leads to a subset, and the host's DestinationRules have others",
			Source: "Envoy has no such cluster, and answers 503 NC", Needs: "a VirtualService and a DestinationRule of one host",
		},
		{
			ID: noCondition, Title: "a condition for retries that there is not", Severity: Error,
			Breaks: "retryOn has a word that is neither a condition of Envoy nor a status",
			Source: "Envoy's router filter, x-envoy-retry-on and x-envoy-retry-grpc-on", Needs: "a route that retries",
		},
	}
}

// aboutInput is a finding of one of the InputRules.
func aboutInput(id, subject string, ref manifest.Ref, evidence, remedy string) Finding {
	r, _ := RuleOf(id)
	return Finding{Rule: r.ID, Title: r.Title, Severity: r.Severity, Subject: subject, Ref: ref, Evidence: evidence, Remedy: remedy}
}

// A Report is the outcome of a check.
type Report struct {
	// Findings are in a stable order: by severity, rule and subject.
	Findings []Finding

	// Held are the IDs of rules that were checked and hold everywhere; Unknown those
	// whose numbers are not all known.
	Held, Unknown []string

	// Ignored counts findings that an ignore or the baseline covers.
	Ignored int

	// Broken are inputs that could not be read.
	Broken []manifest.Problem

	// Notes say why less was checked than the input seems to allow.
	Notes []string

	// Contract is the file of the contract.
	Contract string
}

// Worst is the highest severity among the findings; false if there is none.
func (r *Report) Worst() (Severity, bool) {
	if len(r.Findings) == 0 {
		return Info, false
	}
	return slices.MaxFunc(r.Findings, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) }).Severity, true
}

// Check applies every rule to a world. Findings of the baseline are not reported.
func (w *World) Check(known Baseline) *Report {
	r := &Report{Contract: w.at("").File, Notes: w.notes()}
	for _, rule := range Rules() {
		cases := rule.cases(w)
		if len(cases) == 0 {
			r.Unknown = append(r.Unknown, rule.ID)
			continue
		}
		found := findingsOf(rule, cases)
		if len(found) == 0 {
			r.Held = append(r.Held, rule.ID)
		}
		for i := range found {
			found[i].Detail = w.detail(found[i], r.Findings)
		}
		r.Findings = append(r.Findings, found...)
	}
	agree(r.Findings)
	w.addProblems(r)
	r.Findings = append(r.Findings, w.references()...)
	for _, host := range w.hosts {
		r.Findings = append(r.Findings, w.dropped(host)...)
	}
	w.ignore(r)
	known.drop(r)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.Severity, a.Severity), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Ref.String(), b.Ref.String()))
	})
	return r
}

// agree gives findings about one detector one number for its maxEjectionPercent: the
// least, with which all of them are mended.
func agree(found []Finding) {
	const field, end = "maxEjectionPercent ", " or less"
	percent := func(f Finding) (int, bool) {
		rest, ok := strings.CutPrefix(f.Remedy, field)
		digits, _, more := strings.Cut(rest, end)
		n, err := strconv.Atoi(digits)
		return n, ok && more && err == nil
	}
	least := map[manifest.Ref]int{}
	for _, f := range found {
		if n, ok := percent(f); ok && (least[f.Ref] == 0 || n < least[f.Ref]) {
			least[f.Ref] = n
		}
	}
	for i, f := range found {
		if n, ok := percent(f); ok && n > least[f.Ref] {
			found[i].Remedy = strings.Replace(f.Remedy, say("%s%d", field, n), say("%s%d", field, least[f.Ref]), 1)
		}
	}
}

// findingsOf turns the failing cases of a rule into findings: one for each subject
// and place, of its worst case and with the eras in which it fails, and one only where
// several subjects share the cause.
func findingsOf(rule Rule, cases []instance) []Finding {
	var found []Finding
	notes := eraNotes(cases)
	type told struct { // a subject or a text, at a place
		what string
		at   manifest.Ref
	}
	worst, texts := map[told]instance{}, map[told]bool{}
	var order []told
	for _, c := range cases {
		subject := told{c.Subject, c.Ref}
		before, seen := worst[subject]
		if c.Holds || seen && before.Over >= c.Over {
			continue
		}
		if !seen {
			order = append(order, subject)
		}
		worst[subject] = c
	}
	for _, subject := range order {
		c := worst[subject]
		f := Finding{
			Rule: rule.ID, Title: rule.Title, Severity: rule.Severity, Subject: c.Subject, Ref: c.Ref,
			Evidence: c.Evidence, Remedy: c.Remedy, Scale: c.Scale,
		}
		if n := differing(cases, c); n > 1 {
			f.Evidence += fmt.Sprintf(" (the worst of %d here)", n)
		}
		if note := notes[c.Subject]; note != "" {
			f.Evidence, f.Depends = f.Evidence+" ("+note+")", true
		}
		if text := (told{f.Evidence, f.Ref}); !texts[text] {
			texts[text] = true
			found = append(found, f)
		}
	}
	return found
}

// differing counts the cases that fail like one, in its era, with other numbers: by
// other ways to the same hosts, or with other numbers of them.
func differing(cases []instance, like instance) int {
	texts := map[string]bool{}
	for _, c := range cases {
		if !c.Holds && c.Place == like.Place {
			texts[c.Evidence] = true
		}
	}
	return len(texts)
}

// eraNotes says of each subject in which versions its condition fails, if that
// differs.
func eraNotes(cases []instance) map[string]string {
	type eras struct{ fail, hold []string }
	of := map[string]*eras{}
	for _, c := range cases {
		if c.Era == "" {
			continue
		}
		e := of[c.Subject]
		if e == nil {
			e = &eras{}
			of[c.Subject] = e
		}
		if !c.Holds && !slices.Contains(e.fail, c.Era) {
			e.fail = append(e.fail, c.Era)
		}
		if c.Holds && !slices.Contains(e.hold, c.Era) {
			e.hold = append(e.hold, c.Era)
		}
	}
	notes := map[string]string{}
	for subject, e := range of {
		hold := slices.DeleteFunc(e.hold, func(era string) bool { return slices.Contains(e.fail, era) })
		if len(e.fail) > 0 && len(hold) > 0 {
			notes[subject] = fmt.Sprintf("the version is not known: so with %s, not with %s", strings.Join(e.fail, ", "), strings.Join(hold, ", "))
		}
	}
	return notes
}

// detail is the whole answer where a demand is infeasible, with the rollout as the
// manifests have it. Where C04 and C05 both fire, the first has it.
func (w *World) detail(f Finding, found []Finding) string {
	beside := func(o Finding) bool { return o.Rule == "C04" && o.Subject == f.Subject && o.Detail != "" }
	if f.Rule != "C04" && f.Rule != "C05" || slices.ContainsFunc(found, beside) {
		return ""
	}
	if _, ok := w.Contract.Upstreams[f.Subject]; !ok {
		return ""
	}
	d := w.Contract.Demand(f.Subject)
	d.Replicas, d.MaxReplicas = w.Service.Min, w.Service.Max
	d.Surge, d.Unavailable = w.Service.surge, w.Service.unavailable
	_, err := d.Plan()
	if e, ok := infeasible(err); ok {
		return e.Explain()
	}
	return ""
}

// addProblems reports what the manifests have that their types do not. What O17
// reports is left to it.
func (w *World) addProblems(r *Report) {
	r.Broken = append(r.Broken, w.ambiguous...)
	for _, p := range w.Manifest.Problems {
		if p.Field == "" {
			r.Broken = append(r.Broken, p)
			continue
		}
		byO17 := slices.ContainsFunc(w.detected(), func(c Call) bool {
			o := c.Policy.Object
			return o.String() == p.Object && o.File == p.File && slices.ContainsFunc(c.Policy.Detector.Unknown, func(f string) bool { return strings.HasSuffix(p.Field, "."+f) })
		})
		if !byO17 {
			remedy := "the field's right name"
			if p.Meant != "" {
				remedy = p.Meant
			}
			r.Findings = append(r.Findings, aboutInput(unreadField, p.Object, p.Ref, p.Text, remedy+"; as it stands it is dropped, and a default is in force"))
		}
	}
}
