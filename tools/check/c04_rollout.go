package check

import (
	"math"

	"github.com/offtake-go/offtake/capacity"
)

// c04 is whether any cap fits between the floor and the ceiling during a rollout.
type c04 struct {
	Rate        float64
	Latency     float64 `json:"lat"`
	Replicas    int
	Surge       int
	Unavailable int `json:"unav"`
	Draining    int `json:"term"`
	Limit       int
	MaxReplicas int `json:"max"`
}

func (n c04) verdict() Verdict {
	load := capacity.Little(n.Rate, n.Latency)
	serving := n.Replicas - n.Unavailable
	connected := max(n.Replicas, n.MaxReplicas) + n.Surge + n.Draining
	if serving < 1 {
		return holds(false, say("no pod serves while %d are unavailable", n.Unavailable), "maxUnavailable 0")
	}
	least := ceilTo(load / float64(serving))
	most := n.Limit / connected
	range_ := "empty"
	if least <= most {
		range_ = say("feasible [%d,%d]", least, most)
	}
	return holds(least <= most,
		say("floor %d (=%.6g/%d serving), ceiling %d (=%d/%d connected): %s", least, load, serving, most, n.Limit, connected, range_),
		n.levers(load, least, connected))
}

func (n c04) levers(load float64, least, connected int) string {
	s := say("limit >= %d", least*connected)
	gentle := n.Limit / (max(n.Replicas, n.MaxReplicas) + 1 + n.Draining)
	if floor := ceilTo(load / float64(n.Replicas)); floor <= gentle {
		s += say(", or maxSurge 1 and maxUnavailable 0, which allow [%d,%d]", floor, gentle)
	}
	carried := float64(n.Limit/connected) * float64(n.Replicas-n.Unavailable)
	return s + say(", or mean latency <= %s s, or refuse >= %s%% with 429", atMost(carried/n.Rate), atLeast(100*(1-carried/load)))
}

func ruleC04() Rule {
	return rule(Rule{
		ID: "C04", Title: "no cap satisfies both floor and ceiling", Severity: Error,
		Breaks: "ceil(load / (replicas - unavailable)) > floor(limit / (replicas + surge + draining))",
		Source: "Little's law against Kubernetes' rounding of a rollout", Needs: "a rate, a latency and a limit",
	}, func(w *World, emit func(Place, c04)) {
		for _, c := range w.pools() {
			if c.Upstream.Limit > 0 && c.Mean > 0 {
				s := w.Service
				emit(c.place(), c04{c.Rate, c.Mean, s.Min, s.Extra, s.Missing, s.Draining, c.Upstream.Limit * c.Pool.Streams, s.Max})
			}
		}
	})
}

func ceilTo(x float64) int { return int(math.Ceil(x * (1 - 1e-12))) }
