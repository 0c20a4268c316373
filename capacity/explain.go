package capacity

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"text/tabwriter"
	"time"
)

// An Explanation is a plan with the reason for each of its sizes.
type Explanation struct {
	Plan Plan

	demand   Demand
	stated   Plan
	inFlight Size
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
	for _, s := range x.Sizes() {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", s.Field, s.Value, s.Formula, s.Bound)
	}
	if err := w.Flush(); err != nil {
		panic("capacity: writing to memory failed: " + err.Error())
	}
	return b.String()
}

// Explain derives the plan as Plan does, and keeps the formula of each size
// beside its inputs and the constraint that bound it. Its errors are Plan's.
func (d Demand) Explain() (*Explanation, error) { return d.Complete(Plan{}) }

// Complete explains a plan of which some sizes are stated by hand: every field of
// stated that is not zero stays as it is, and the others are derived around it. A
// stated InFlight is not compared with the bounds. Its errors are Plan's, and
// those of resolving the whole.
func (d Demand) Complete(stated Plan) (*Explanation, error) {
	d, err := d.resolve(stated)
	if err != nil {
		return nil, err
	}
	if stated.InFlight != 0 {
		return d.derive(stated, Size{Field: "InFlight", Formula: "stated"})
	}
	floors, err := d.floors()
	if err != nil {
		return nil, err
	}
	ceilings := d.ceilings()
	if len(ceilings) > 0 && bindingFloor(floors).Places > bindingCeiling(ceilings).Places {
		return nil, d.infeasible(floors, ceilings)
	}
	places, size, err := d.places(floors, ceilings, stated)
	if err != nil {
		return nil, err
	}
	stated.InFlight = places
	return d.derive(stated, size)
}

// places picks the number between the bounds: the floor, or what the default
// chance to wait asks for, as far as the ceiling allows; without one, what a slow
// upstream would need.
func (d Demand) places(floors, ceilings []Bound, stated Plan) (int, Size, error) {
	floor := bindingFloor(floors)
	places, size := floor.Places, Size{Field: "InFlight", Formula: "at least " + floor.String(), Bound: "the floor decides"}
	if d.WaitChance == 0 {
		target, err := PlacesFor(d.load()/float64(d.Replicas), defaultWaitChance)
		if err != nil {
			return 0, size, err
		}
		if target > places {
			places, size.Bound = target, fmt.Sprintf("the chance to wait decides: %d (%s)", target, d.waitFormula(defaultWaitChance))
		}
	}
	if p := d.times(stated); d.Degraded != 0 && p.Attempts > 1 {
		if b := d.repeated(p); b.Places > places {
			places, size.Bound = b.Places, fmt.Sprintf("the retries decide: %v", b)
		}
	}
	if len(ceilings) == 0 {
		b, err := d.forgiving(stated)
		if err != nil {
			return 0, size, err
		}
		if b.Places > places {
			places, size.Bound = b.Places, fmt.Sprintf("a slow upstream decides: %v", b)
		}
	} else {
		most := bindingCeiling(ceilings)
		size.Formula += ", at most " + most.String()
		if places > most.Places {
			places, size.Bound = most.Places, "the limit decides"
		}
	}
	size.Bound += fmt.Sprintf("; %s of calls wait at peak", percent(ErlangC(places, d.load()/float64(d.Replicas))))
	return places, size, nil
}

// derive completes a plan around its places and what else is stated.
func (d Demand) derive(stated Plan, inFlight Size) (*Explanation, error) {
	p := d.times(stated)
	if stated.Attempts == 0 && p.Attempts > 1 && p.InFlight < d.repeated(p).Places {
		stated.Attempts = 1
		p = d.times(stated)
		stated.Attempts = 0
	}
	p.Idempotent = p.Idempotent || d.Idempotent
	if p.Streams == 0 {
		p.Streams = d.Streams
	}
	if p.Connections == 0 && p.InFlight > 0 && p.Streams > 0 {
		p.Connections = ceilDiv(p.InFlight, p.Streams)
	}
	if p.Rate == 0 {
		p.Rate = d.Rate / float64(d.Replicas)
	}
	if p.Latency == 0 {
		p.Latency = seconds(d.mean())
	}
	if p.Queue == 0 && p.InFlight > 0 {
		p.Queue = d.queue(p)
	}
	if p.Warm == 0 {
		p.Warm = min(max(ceil(d.busy()/float64(p.Streams)), 1), p.Connections)
	}
	p, err := p.Resolve()
	if err != nil {
		return nil, err
	}
	return &Explanation{Plan: p, demand: d, stated: stated, inFlight: inFlight}, nil
}

// Sizes returns the sizes with their reasons, in the order in which they follow
// from each other; none for an Explanation that was not made by a Demand.
func (x *Explanation) Sizes() []Size {
	d, p := x.demand, x.Plan
	if d.Rate == 0 {
		return nil
	}
	sizes := []Size{x.inFlight}
	sizes = append(sizes, d.explainConnections(p)...)
	sizes = append(sizes, d.explainTimes(p)...)
	sizes = append(sizes, d.explainRest(p)...)
	if full := p.FullAt(); full > 0 {
		sizes[0].Bound = strings.TrimPrefix(fmt.Sprintf("%s; full at a mean of %v, %.3g × the stated one", sizes[0].Bound, full, p.Slack()), "; ")
	}
	for i := range sizes {
		s := &sizes[i]
		s.Value = p.field(s.Field)
		if i > 0 && x.stated.field(s.Field) != (Plan{}).field(s.Field) {
			s.Formula, s.Bound = "stated", ""
		}
	}
	return sizes
}

// field is one field as it prints, or "" if there is none of that name.
func (p Plan) field(name string) string {
	f := reflect.ValueOf(p).FieldByName(name)
	switch {
	case !f.IsValid():
		return ""
	case name == "Queue" && p.Queue == NoQueue:
		return "none"
	case name == "Rate":
		return fmt.Sprintf("%.4g/s", p.Rate)
	}
	return fmt.Sprint(f.Interface())
}

// busy is how many places a replica uses at its peak, two standard deviations above
// the mean.
func (d Demand) busy() float64 { return SquareRootStaffing(d.load()/float64(d.Replicas), 2) }

func (d Demand) latencyFormula() string {
	if d.P50 != 0 {
		return fmt.Sprintf("the mean of a lognormal with p50 %v and p99 %v", d.P50, d.P99)
	}
	return "the mean that the demand states"
}

func (d Demand) explainConnections(p Plan) []Size {
	each := d.load() / float64(d.Replicas)
	inFlight := fmt.Sprintf("%.4g + 2√%.4g = %.4g in flight at peak", each, each, d.busy())
	if p.Streams > 1 {
		inFlight += fmt.Sprintf(" / %d per connection", p.Streams)
	}
	warm := "what a peak uses before it is steady"
	if p.Warm == p.Connections {
		warm = "all Connections"
	}
	return []Size{
		{Field: "Connections", Formula: fmt.Sprintf("%s / %d per connection", count(p.InFlight, "place"), p.Streams), Bound: "no fewer than the places need, no more than they use"},
		{Field: "Warm", Formula: inFlight, Bound: warm},
		{Field: "Rate", Formula: fmt.Sprintf("%g/s / %s", d.Rate, count(d.Replicas, "replica")), Bound: "the peak of one replica"},
		{Field: "Latency", Formula: d.latencyFormula(), Bound: "what live calls are compared with"},
	}
}

func (d Demand) explainRest(p Plan) []Size {
	freed := MaxRate(p.InFlight, d.mean())
	retry := "nothing is sent twice"
	if p.Attempts > 1 {
		retry = fmt.Sprintf("retries add at most %s to the load", percent(p.RetryShare))
	}
	within := min(p.Wait, seconds(slower*d.mean()))
	queue := "a longer queue would hold calls that can not be served within Wait"
	if within < p.Wait {
		queue = fmt.Sprintf("%d for each place", slower)
	}
	return []Size{
		{Field: "Queue", Formula: fmt.Sprintf("%.4g places come free a second × %v", freed, within), Bound: queue},
		{Field: "RetryShare", Formula: "the default", Bound: retry},
		{Field: "BodyIdle", Formula: fmt.Sprintf("the smaller of %v and Deadline", defaultBodyIdle), Bound: "a body without progress gives its place back"},
	}
}

// times derives the times that are not stated: all from the caller's deadline. A
// call that may be repeated has two attempts only if each can have the time that
// 99 % of calls take, and there is time for the pause between them; one that may
// not be has all the time for its one attempt.
func (d Demand) times(p Plan) Plan {
	if d.Deadline == 0 {
		d.Deadline = defaultDeadline
	}
	if p.Deadline == 0 {
		p.Deadline = d.Deadline / 10 * 9
	}
	if p.Attempts == 0 {
		each := p.Attempt
		if each == 0 {
			each = max(d.p99(), d.Degraded)
		}
		p.Attempts = 1
		if each <= p.Deadline/10*9/defaultAttempts && p.Deadline >= leastRepeated {
			p.Attempts = defaultAttempts
		}
	}
	tries := max(p.Attempts, 1) // NoRetry is one
	if p.Once == 0 {
		p.Once = p.Attempt
	}
	if p.Once == 0 {
		p.Once = p.Deadline / 10 * 9
	}
	if p.Attempt == 0 {
		p.Attempt = min(p.Deadline/10*9/time.Duration(tries), p.Once)
	}
	if p.Wait == 0 {
		spare := p.Deadline - time.Duration(tries)*p.Attempt
		p.Wait = max(min(spare/2, p.Attempt/4, d.longestWait()), leastTime)
	}
	return p
}

func (d Demand) explainTimes(p Plan) []Size {
	attempt := fmt.Sprintf("p99 is %v", d.p99())
	if d.P99 == 0 {
		attempt = fmt.Sprintf("%s of calls take longer, if exponential", percent(math.Exp(-p.Attempt.Seconds()/d.mean())))
	}
	wait := "the rest is for pauses and the body"
	switch p.Wait {
	case p.Attempt / 4:
		wait = "a quarter of Attempt"
	case d.longestWait():
		wait = fmt.Sprintf("%d × the mean latency, or %v", slower, defaultWait)
	}
	needs := fmt.Sprintf("p99 is %v", d.p99())
	if d.Degraded > d.p99() {
		needs = fmt.Sprintf("the degraded latency is %v", d.Degraded)
	}
	attempts := fmt.Sprintf("%v would be left for each, %s", p.Deadline/10*9/defaultAttempts, needs)
	switch {
	case p.Attempts > 1:
	case p.Deadline < leastRepeated:
		attempts = fmt.Sprintf("a Deadline under %v leaves no time for a pause", leastRepeated)
	case max(d.p99(), d.Degraded) <= p.Deadline/10*9/defaultAttempts:
		attempts = "there are no places for retries"
	}
	once := "for a call that may not be repeated"
	if p.Idempotent {
		once = "every call may be repeated"
	}
	onceFrom := fmt.Sprintf("9/10 × %v", p.Deadline)
	if p.Once != p.Deadline/10*9 {
		onceFrom = "the stated Attempt"
	}
	return []Size{
		{Field: "Deadline", Formula: fmt.Sprintf("9/10 × %v", d.Deadline), Bound: "the caller gives up at " + d.Deadline.String()},
		{Field: "Attempt", Formula: fmt.Sprintf("9/10 × %v / %s", p.Deadline, count(p.Attempts, "attempt")), Bound: attempt},
		{Field: "Once", Formula: onceFrom, Bound: once},
		{Field: "Attempts", Formula: "two if each can have the p99, and retries have places", Bound: attempts},
		{Field: "Wait", Formula: fmt.Sprintf("the least of half the spare Deadline, a quarter of Attempt, and %d × the mean", slower), Bound: wait},
	}
}
