package capacity

import (
	"fmt"
	"math"
	"strings"
)

// A Bound is one constraint on the places of a replica.
type Bound struct {
	// Places is the least or the most that the constraint leaves.
	Places int

	// Formula is where the number comes from, with its inputs: "2 × 120/s × 1.2s /
	// 6 replicas".
	Formula string

	// When is the state in which the constraint holds: "" always, or "while 2 surge
	// pods run".
	When string
}

func (b Bound) String() string {
	if b.When == "" {
		return fmt.Sprintf("%d (%s)", b.Places, b.Formula)
	}
	return fmt.Sprintf("%d %s (%s)", b.Places, b.When, b.Formula)
}

// floors are the constraints from below, that of the steady state first.
func (d Demand) floors() ([]Bound, error) {
	load := d.load()
	floors := []Bound{{
		Places:  max(1, ceil(d.Headroom*load/float64(d.Replicas))),
		Formula: fmt.Sprintf("%s%g/s × %v / %s", times(d.Headroom), d.Rate, seconds(d.mean()), count(d.Replicas, "replica")),
	}}
	if d.Degraded != 0 {
		floors = append(floors, Bound{
			Places:  ceil(Little(d.Rate, d.Degraded.Seconds()) / float64(d.Replicas)),
			Formula: fmt.Sprintf("%g/s × %v / %s", d.Rate, d.Degraded, count(d.Replicas, "replica")),
			When:    "while the upstream is slow",
		})
	}
	if _, missing := RolloutPods(d.Replicas, d.Surge, d.Unavailable); missing > 0 {
		floors = append(floors, Bound{
			Places:  ceil(load / float64(d.Replicas-missing)),
			Formula: fmt.Sprintf("%g/s × %v / %d serving", d.Rate, seconds(d.mean()), d.Replicas-missing),
			When:    fmt.Sprintf("while %s", are(missing, "unavailable")),
		})
	}
	if d.WaitChance != 0 {
		n, err := PlacesFor(load/float64(d.Replicas), d.WaitChance)
		if err != nil {
			return nil, err
		}
		floors = append(floors, Bound{Places: n, Formula: d.waitFormula(d.WaitChance)})
	}
	return floors, nil
}

func (d Demand) waitFormula(chance float64) string {
	return fmt.Sprintf("at most %s of calls wait at %.4g in flight, Erlang C", percent(chance), d.load()/float64(d.Replicas))
}

// ceilings are the constraints from above, that of the steady state first; none
// if the upstream states no limit.
func (d Demand) ceilings() []Bound {
	if d.Limit == 0 {
		return nil
	}
	ceilings := []Bound{d.ceiling(d.MaxReplicas, "")}
	extra, _ := RolloutPods(d.MaxReplicas, d.Surge, d.Unavailable)
	if extra+d.Draining > 0 {
		var who []string
		if extra > 0 {
			who = append(who, count(extra, "surge pod"))
		}
		if d.Draining > 0 {
			who = append(who, count(d.Draining, "draining pod"))
		}
		verb := " run"
		if extra+d.Draining == 1 {
			verb = " runs"
		}
		ceilings = append(ceilings, d.ceiling(d.MaxReplicas+extra+d.Draining, "while "+strings.Join(who, " and ")+verb))
	}
	return ceilings
}

func (d Demand) ceiling(holders int, when string) Bound {
	b := Bound{Places: min(d.Limit/holders, maxPlaces), Formula: fmt.Sprintf("limit %d / %d", d.Limit, holders), When: when}
	if d.Streams > 1 {
		b.Places = int(min(int64(b.Places)*int64(d.Streams), maxPlaces))
		b.Formula += fmt.Sprintf(" × %d streams", d.Streams)
	}
	return b
}

// mostLoad is the peak load of all replicas that the floors allow at a number of
// places for each.
func (d Demand) mostLoad(places int) float64 {
	replicas := float64(d.Replicas)
	load := float64(places) * replicas / max(d.Headroom, d.slowest()/d.mean())
	if _, missing := RolloutPods(d.Replicas, d.Surge, d.Unavailable); missing > 0 {
		load = min(load, float64(places*(d.Replicas-missing)))
	}
	if d.WaitChance != 0 {
		over := root(func(each float64) bool { return ErlangC(places, each) > d.WaitChance })
		load = min(load, replicas*over*(1-1e-12)) // on the safe side of rounding
	}
	return load
}

func bindingFloor(floors []Bound) Bound {
	binding := floors[0]
	for _, b := range floors[1:] {
		if b.Places > binding.Places {
			binding = b
		}
	}
	return binding
}

func bindingCeiling(ceilings []Bound) Bound {
	binding := ceilings[0]
	for _, b := range ceilings[1:] {
		if b.Places < binding.Places {
			binding = b
		}
	}
	return binding
}

// ceil rounds up to whole places, but forgives the last digits of a product that
// is meant to be whole.
func ceil(x float64) int { return int(math.Ceil(x * (1 - 1e-12))) }

// times writes "2 × ", or nothing for 1.
func times(factor float64) string {
	if factor == 1 {
		return ""
	}
	return fmt.Sprintf("%g × ", factor)
}

func are(n int, what string) string {
	if n == 1 {
		return "1 is " + what
	}
	return fmt.Sprintf("%d are %s", n, what)
}

// percent writes a share with the digits that mean something.
func percent(share float64) string {
	if share > 0 && share < 1e-4 {
		return "less than 0.01 %"
	}
	return fmt.Sprintf("%.3g %%", 100*share)
}

// atMost is x rounded down to its first digits, for a bound that must be kept. It
// forgives what ceil forgives.
func atMost(x float64, digits int) float64 {
	if x <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-float64(digits-1))
	return math.Floor(x/unit*(1+1e-12)) * unit
}

// atLeast is a percentage rounded up, for a share that must be reached.
func atLeast(share float64) string {
	return fmt.Sprintf("%.1f %%", math.Ceil(max(0, share*1000-1e-9))/10)
}
