package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// references are the findings about words of routes that mean nothing: subsets and
// conditions for retries. Either is taken without a complaint when it is applied.
func (w *World) references() []Finding {
	var found []Finding
	add := func(f Finding) {
		if !slices.ContainsFunc(found, func(o Finding) bool { return o.Ref == f.Ref && o.Evidence == f.Evidence }) {
			found = append(found, f)
		}
	}
	for _, c := range w.Calls {
		_, subsets := merged(w.destinationRules(c.host))
		for _, each := range c.ways {
			r := each.route
			if r == nil || r.Plane == "grpc" {
				continue
			}
			place := routed{r, c}.place()
			if _, ok := subsets[each.to.subset]; !ok && each.led && each.to.subset != "" && len(w.destinationRules(c.host)) > 0 {
				known := slices.Sorted(maps.Keys(subsets))
				remedy := "a subset of that name in the DestinationRule"
				if len(known) > 0 {
					remedy = say("one of %s; or %s", strings.Join(known, ", "), remedy)
				}
				add(aboutInput(noSubset, place.Subject, place.Ref, say("no DestinationRule of %s has a subset %s", c.host, each.to.subset), remedy))
			}
			for on := range strings.SplitSeq(r.On, ",") {
				if on = strings.TrimSpace(on); on == "" || isCondition(on) {
					continue
				}
				add(aboutInput(noCondition, place.Subject, place.Ref, say("%q is no condition for retries, and nothing is repeated for it", on), nearestCondition(on)))
			}
		}
	}
	return found
}

// conditions are Envoy's, for HTTP and for gRPC.
func conditions() []string {
	return []string{
		"5xx", "gateway-error", "reset", "reset-before-request", "connect-failure", "envoy-ratelimited", "retriable-4xx", "refused-stream",
		"retriable-status-codes", "retriable-headers", "http3-post-connect-failure",
		"cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable",
	}
}

func isCondition(on string) bool {
	code, err := strconv.Atoi(on)
	return err == nil && code >= 100 && code < 600 || slices.Contains(conditions(), on)
}

func nearestCondition(on string) string {
	if near := contract.Nearest(on, conditions()); near != "" {
		return near
	}
	return "one of " + strings.Join(conditions(), ", ") + ", or a status such as 503"
}
