package capacity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// An Explanation is a plan with the reason for each of its sizes.
type Explanation struct {
	Plan  Plan
	Sizes []Size
}

// A Size is one field of a plan, where it comes from and what bound it.
type Size struct {
	// Field is the name of Plan's field, Value what it was set to.
	Field, Value string

	// Formula is the formula with its inputs.
	Formula string

	// Bound is the constraint that decided, or what the number leads to.
	Bound string
}

// String writes a table, one size per line.
func (x *Explanation) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, s := range x.Sizes {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Field, s.Value, s.Formula, s.Bound)
	}
	w.Flush()
	return b.String()
}

// Explain derives the plan as Plan does, and keeps the formula of each size
// beside its inputs and the constraint that bound it. Its errors are Plan's.
func (d Demand) Explain() (*Explanation, error) {
	d, err := d.resolve()
	if err != nil {
		return nil, err
	}
	floors, err := d.floors()
	if err != nil {
		return nil, err
	}
	floor, ceilings := bindingFloor(floors), d.ceilings()
	if len(ceilings) > 0 && floor.Places > bindingCeiling(ceilings).Places {
		return nil, d.infeasible(floors, ceilings)
	}
	places := floor.Places
	size := Size{Field: "InFlight", Formula: "at least " + floor.String(), Bound: "the floor decides"}
	if d.WaitChance == 0 {
		target, err := PlacesFor(d.load()/float64(d.Replicas), defaultWaitChance)
		if err != nil {
			return nil, err
		}
		if target > places {
			places, size.Bound = target, fmt.Sprintf("the chance to wait decides: %d (%s)", target, d.waitFormula(defaultWaitChance))
		}
	}
	if len(ceilings) > 0 {
		most := bindingCeiling(ceilings)
		size.Formula += ", at most " + most.String()
		if places > most.Places {
			places, size.Bound = most.Places, "the limit decides"
		}
	}
	size.Bound += fmt.Sprintf("; %s of calls wait at peak", percent(ErlangC(places, d.load()/float64(d.Replicas))))
	return d.explain(places, size)
}

// explain derives the rest of a plan from its places.
func (d Demand) explain(places int, inFlight Size) (*Explanation, error) {
	each := d.load() / float64(d.Replicas)
	p := d.times()
	p.InFlight = places
	p.Streams = d.Streams
	p.Connections = ceilDiv(places, d.Streams)
	p.Rate = d.Rate / float64(d.Replicas)
	freed := MaxRate(places, d.mean())
	p.Queue = min(max(ceil(freed*p.Wait.Seconds()), 1), maxPlaces)
	busy := SquareRootStaffing(each, 2)
	p.Warm = min(max(ceil(busy/float64(d.Streams)), 1), p.Connections)
	p, err := p.Resolve()
	if err != nil {
		return nil, err
	}

	x := &Explanation{Plan: p}
	inFlight.Value = strconv.Itoa(places)
	x.Sizes = append(x.Sizes, inFlight,
		Size{"Connections", strconv.Itoa(p.Connections), fmt.Sprintf("%s / %d per connection", count(places, "place"), p.Streams), "no fewer than the places need, no more than they use"},
		Size{"Warm", strconv.Itoa(p.Warm), fmt.Sprintf("%.4g + 2√%.4g = %.4g in flight at peak", each, each, busy), d.warmBound(p)},
		Size{"Rate", fmt.Sprintf("%.4g/s", p.Rate), fmt.Sprintf("%g/s / %s", d.Rate, count(d.Replicas, "replica")), "the peak of one replica"})
	x.Sizes = append(x.Sizes, d.explainTimes(p)...)
	x.Sizes = append(x.Sizes,
		Size{"Queue", strconv.Itoa(p.Queue), fmt.Sprintf("%.4g places come free a second × %v", freed, p.Wait), "a longer queue would hold calls that can not be served within Wait"},
		retryShare(p),
		Size{"BodyIdle", p.BodyIdle.String(), fmt.Sprintf("the smaller of %v and Deadline", defaultBodyIdle), "a body without progress gives its place back"})
	return x, nil
}

func retryShare(p Plan) Size {
	s := Size{"RetryShare", fmt.Sprintf("%g", p.RetryShare), "the default", "nothing is sent twice"}
	if p.Attempts > 1 {
		s.Bound = fmt.Sprintf("retries add at most %s to the load", percent(p.RetryShare))
	}
	return s
}

func (d Demand) warmBound(p Plan) string {
	if p.Warm == p.Connections {
		return "all Connections"
	}
	return "what a peak uses before it is steady"
}

// times derives the times of a plan: all from the caller's deadline, and two
// attempts only if each can have the time that 99 % of calls take.
func (d Demand) times() Plan {
	if d.Deadline == 0 {
		d.Deadline = defaultDeadline
	}
	p := Plan{Deadline: d.Deadline / 10 * 9, Attempts: defaultAttempts}
	p.Attempt = p.Deadline / 10 * 9 / defaultAttempts
	if p.Attempt < d.p99() {
		p.Attempts = 1
		p.Attempt = p.Deadline / 10 * 9
	}
	spare := p.Deadline - p.Attempt*time.Duration(p.Attempts)
	p.Wait = min(spare/2, p.Attempt/4)
	return p
}

func (d Demand) explainTimes(p Plan) []Size {
	deadline := Size{"Deadline", p.Deadline.String(), fmt.Sprintf("9/10 × %v", d.Deadline), "the caller gives up at " + d.Deadline.String()}
	attempt := Size{"Attempt", p.Attempt.String(), fmt.Sprintf("9/10 × %v / %s", p.Deadline, count(p.Attempts, "attempt")), ""}
	if d.P99 != 0 {
		attempt.Bound = fmt.Sprintf("p99 is %v", d.P99)
	} else {
		late := math.Exp(-p.Attempt.Seconds() / d.mean())
		attempt.Bound = fmt.Sprintf("%s of calls take longer, if exponential", percent(late))
	}
	attempts := Size{"Attempts", strconv.Itoa(p.Attempts), "two if each can have the p99", fmt.Sprintf("%v would be left for each, p99 is %v", p.Deadline/10*9/defaultAttempts, d.p99())}
	wait := Size{"Wait", p.Wait.String(), "the smaller of half the spare Deadline and a quarter of Attempt", ""}
	if p.Wait == p.Attempt/4 {
		wait.Bound = "a quarter of Attempt"
	} else {
		wait.Bound = "the rest is for pauses and the body"
	}
	return []Size{deadline, attempt, attempts, wait}
}
