package check

import (
	"cmp"
	"math"
	"slices"
	"strings"

	networking "istio.io/api/networking/v1alpha3"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// destinationRules are the DestinationRules that Istio makes one of for a host: those
// of the caller's namespace, or else of the host's, or else of the mesh's; without a
// workloadSelector before those with one, and of them the oldest first. Rules of a
// wildcard count where no rule has the host itself.
//
// Source: Istio's destinationRule in push_context.go and mergeDestinationRule.
func (w *World) destinationRules(host string) []*manifest.Object {
	var all []*manifest.Object
	longest := 0
	for _, o := range manifest.Of[*manifest.DestinationRule](w.Manifest) {
		switch n := w.matches(o, host); {
		case n > longest:
			all, longest = []*manifest.Object{o}, n
		case n > 0 && n == longest:
			all = append(all, o)
		}
	}
	_, rest, _ := strings.Cut(host, ".")
	theirs, _, _ := strings.Cut(rest, ".")
	rank := func(o *manifest.Object) int {
		switch w.namespaceOf(o) {
		case w.home:
			return 0
		case theirs:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(all, func(a, b *manifest.Object) int {
		byAge := 0
		if a.Created != "" && b.Created != "" {
			byAge = cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(selective(a), selective(b)), byAge)
	})
	return slices.DeleteFunc(all, func(o *manifest.Object) bool { return w.namespaceOf(o) != w.namespaceOf(all[0]) })
}

// matches is how much of a host a rule names: 0 if it has another, and less than the
// whole by a wildcard.
func (w *World) matches(o *manifest.Object, host string) int {
	named := ruleOf(o).GetHost()
	suffix, wildcard := strings.CutPrefix(named, "*")
	if !wildcard {
		if sameHost(completed(named, o.Namespace), host) {
			return math.MaxInt // however it is spelt
		}
		return 0
	}
	if strings.Count(host, ".") == 1 && strings.HasSuffix(host, "."+w.home) || strings.HasSuffix(host, ".svc") {
		host = strings.TrimSuffix(host, ".svc") + ".svc.cluster.local"
	}
	if strings.HasSuffix(host, suffix) {
		return 1 + len(suffix)
	}
	return 0
}

// completed is a short name with its namespace, as Kubernetes and Istio take it.
func completed(host, namespace string) string {
	if host == "" || namespace == "" || strings.Contains(host, ".") {
		return host
	}
	return host + "." + namespace
}

// namespaceOf is an object's namespace; without one it is the service's.
func (w *World) namespaceOf(o *manifest.Object) string { return cmp.Or(o.Namespace, w.home) }

func ruleOf(o *manifest.Object) *manifest.DestinationRule { return o.Value.(*manifest.DestinationRule) }

func selective(o *manifest.Object) int { return len(ruleOf(o).GetWorkloadSelector().GetMatchLabels()) }

// A part of a rule that Istio makes of several, and where it stands.
type part struct {
	*networking.TrafficPolicy
	*manifest.Object
	path []string

	// labels are those of a subset.
	labels map[string]string
}

// merged are the policies that Istio takes for a host: that of the first rule which
// has one, and of every subset the first.
func merged(rules []*manifest.Object) (all part, subsets map[string]part) {
	subsets = map[string]part{}
	for _, o := range rules {
		if selective(o) != selective(rules[0]) {
			break // its own rule, for some callers
		}
		if tp := ruleOf(o).GetTrafficPolicy(); tp != nil && all.TrafficPolicy == nil {
			all = part{tp, o, []string{"spec", "trafficPolicy"}, nil}
		}
		for i, s := range ruleOf(o).GetSubsets() {
			if _, ok := subsets[s.GetName()]; !ok {
				subsets[s.GetName()] = part{s.GetTrafficPolicy(), o, []string{"spec", "subsets", index(i), "trafficPolicy"}, s.GetLabels()}
			}
		}
	}
	return all, subsets
}

// dropped are the findings about rules of a host that Istio takes no part or only
// subsets of.
func (w *World) dropped(host string) []Finding {
	rules := w.destinationRules(host)
	if len(rules) < 2 {
		return nil
	}
	all, subsets := merged(rules)
	var found []Finding
	add := func(o *manifest.Object, evidence, remedy string) {
		found = append(found, aboutInput(unmerged, o.String(), o.Ref, evidence, remedy))
	}
	lost := func(o, by *manifest.Object, what string) {
		why := say("%v (%v) is older", by, by.Ref)
		if o.Created == "" || by.Created == "" {
			why = say("%v (%v) has one too, and which is older, and so in force, is not known", by, by.Ref)
		}
		add(o, say("%s for %s was not read: %s", what, ruleOf(o).GetHost(), why), "one DestinationRule for the host, or only one with a trafficPolicy, and no subset in two of them")
	}
	for _, o := range rules {
		if selective(o) != selective(rules[0]) {
			add(o, say("it is for the callers of its workloadSelector alone; %v (%v) was read", rules[0], rules[0].Ref), "a check of those callers with this rule alone")
			continue
		}
		if ruleOf(o).GetTrafficPolicy() != nil && all.Object != o {
			lost(o, all.Object, "the trafficPolicy")
		}
		for _, s := range ruleOf(o).GetSubsets() {
			if first := subsets[s.GetName()]; first.Object != o {
				lost(o, first.Object, "the subset "+s.GetName())
			}
		}
	}
	return found
}
