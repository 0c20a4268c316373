package capacity

import (
	"fmt"
	"strings"
)

// Infeasible says that no number of places per replica satisfies a demand: some
// constraint needs more than another allows. It is an answer, with the numbers
// that would change it. Best returns what can be had all the same.
type Infeasible struct {
	// Demand is the demand, with its defaults filled in.
	Demand Demand

	// Floor and Ceiling are the two constraints that collide.
	Floor, Ceiling Bound

	// Floors and Ceilings are all constraints, those of the steady state first.
	Floors, Ceilings []Bound

	// Factor is the largest multiple of the peak that the upstream's limit carries,
	// if the replicas could share it freely.
	Factor float64

	// WholeFactor is the same with the limit divided in whole places: what the best
	// plan carries.
	WholeFactor float64

	// Levers are the changes that make the demand feasible, each alone.
	Levers []Lever
}

// A Lever is one number of a demand, and what it would have to be.
type Lever struct {
	// Name is "limit" (connections), "mean latency" (seconds; a degraded one falls
	// in proportion), "rate" (per second, of the peak times the headroom) or "refuse"
	// (share of that rate).
	Name string

	// AtLeast tells a lower bound from an upper one.
	AtLeast bool

	// Shared would do if the replicas shared the limit freely, as with a limiter
	// for all of them. Whole does with the limit divided among them in whole places,
	// rollout included.
	Shared, Whole float64
}

// A Shortfall is what the best plan lacks.
type Shortfall struct {
	// Carried is the rate that all replicas together can carry, per second, and
	// Factor the multiple of the peak that it is.
	Carried, Factor float64

	// Refused is the share of calls that must be refused at the peak times the
	// headroom, PeakRefused that at the peak itself.
	Refused, PeakRefused float64

	// WaitChance is the chance to wait at the peak.
	WaitChance float64
}

func (d Demand) infeasible(floors, ceilings []Bound) *Infeasible {
	load := d.load()
	total := float64(d.Limit) * float64(d.Streams)
	factor := max(d.Headroom, d.slowest()/d.mean()) // of the peak load, in the steady state
	e := &Infeasible{
		Demand: d, Floors: floors, Ceilings: ceilings,
		Floor: bindingFloor(floors), Ceiling: bindingCeiling(ceilings),
		Factor: total / load,
	}
	e.WholeFactor = float64(e.Ceiling.Places) * float64(d.Replicas) / load

	extra, _ := RolloutPods(d.MaxReplicas, d.Surge, d.Unavailable)
	holders := d.MaxReplicas + extra + d.Draining
	most := d.mostLoad(e.Ceiling.Places) // of the peak
	e.Levers = []Lever{
		{"limit", true, float64(ceil(factor * load / float64(d.Streams))), float64(holders * ceilDiv(e.Floor.Places, d.Streams))},
		{"mean latency", false, total / (factor * d.Rate), most / d.Rate},
		{"rate", false, total / d.mean() * d.Headroom / factor, d.Headroom * most / d.mean()},
		{"refuse", true, max(0, 1-total/(factor*load)), 1 - most/load},
	}
	return e
}

// Error names the floor, the ceiling, and what would do.
func (e *Infeasible) Error() string {
	return fmt.Sprintf("capacity: infeasible: at least %v places per replica are needed and at most %v are allowed; %s",
		e.Floor, e.Ceiling, e.remedy())
}

// remedy is the levers with a freely shared limit, or that sharing is itself the
// lever; and those of a divided limit, since whoever pulled one of the former
// could be told again that it will not do.
func (e *Infeasible) remedy() string {
	at := fmt.Sprintf("or at %sthe peak any one of: ", times(e.Demand.Headroom))
	whole := e.levers(Lever.whole)
	if e.sharingWouldDo() {
		return "a limit that the replicas share freely would do, " + at + whole
	}
	shared := e.levers(Lever.shared)
	remedy := fmt.Sprintf("%.4g × the peak is the most, %s%s", e.Factor, at, shared)
	if whole != shared {
		remedy += "; with the limit divided in whole places: " + whole
	}
	return remedy
}

// sharingWouldDo reports whether the limit is large enough and only its division is
// in the way.
func (e *Infeasible) sharingWouldDo() bool {
	return e.Factor >= max(e.Demand.Headroom, e.Demand.slowest()/e.Demand.mean())
}

func (l Lever) shared() float64 { return l.Shared }

// whole is rounded to the digits that are printed, so that what is printed does.
func (l Lever) whole() float64 {
	switch l.Name {
	case "mean latency":
		return atMost(l.Whole, 3)
	case "rate":
		return atMost(l.Whole, 4)
	}
	return l.Whole
}

// Best returns the plan with the most places that the limit allows, and what it
// lacks of the demand. It fails if the limit leaves a replica no place at all.
func (e *Infeasible) Best() (Plan, Shortfall, error) {
	places := e.Ceiling.Places
	if places < 1 {
		return Plan{}, Shortfall{}, fmt.Errorf("capacity: infeasible: the limit leaves no place for each replica (%s)", e.Ceiling.Formula)
	}
	x, err := e.Demand.derive(Plan{InFlight: places}, Size{Field: "InFlight"})
	if err != nil {
		return Plan{}, Shortfall{}, err
	}
	return x.Plan, e.shortfall(places), nil
}

func (e *Infeasible) shortfall(places int) Shortfall {
	d := e.Demand
	all := places * d.Replicas
	return Shortfall{
		Carried:     MaxRate(all, d.mean()),
		Factor:      float64(all) / d.load(),
		Refused:     Loss(all, d.Headroom*d.load()),
		PeakRefused: Loss(all, d.load()),
		WaitChance:  ErlangC(places, d.load()/float64(d.Replicas)),
	}
}

// Explain writes the whole answer on several lines.
func (e *Infeasible) Explain() string {
	var b strings.Builder
	b.WriteString("INFEASIBLE: no number of places per replica satisfies the demand\n")
	fmt.Fprintf(&b, "  needs   >= %s\n", bounds(e.Floors))
	fmt.Fprintf(&b, "  allows  <= %s\n", bounds(e.Ceilings))
	for _, c := range e.Ceilings {
		if c.Places < 1 {
			continue
		}
		s := e.shortfall(c.Places)
		fmt.Fprintf(&b, "  at %d:  %.4g/s = %.4g × peak, %s of %g × peak must be refused\n",
			c.Places, s.Carried, s.Factor, atLeast(s.Refused), e.Demand.Headroom)
	}
	shared := "none is needed"
	if !e.sharingWouldDo() {
		shared = e.levers(Lever.shared)
	}
	fmt.Fprintf(&b, "levers at %sthe peak, any one, if the replicas share one limit:  %s\n", times(e.Demand.Headroom), shared)
	fmt.Fprintf(&b, "with the limit divided among them in whole places: %s\n", e.levers(Lever.whole))
	e.explainPeak(&b)
	return b.String()
}

// explainPeak says what is left at the peak alone, in and out of a rollout.
func (e *Infeasible) explainPeak(b *strings.Builder) {
	d := e.Demand
	each := d.load() / float64(d.Replicas)
	least, most := ceil(each), e.Ceilings[0].Places
	if least > most {
		return
	}
	fmt.Fprintf(b, "1 × peak, no rollout: [%d, %d]", least, most)
	if most > least {
		fmt.Fprintf(b, "; at %d %s of calls wait", most, percent(ErlangC(most, each)))
	}
	b.WriteString("\n")
	if len(e.Ceilings) == 1 && d.Unavailable == (Pods{}) {
		return
	}
	_, missing := RolloutPods(d.Replicas, d.Surge, d.Unavailable)
	least, most = ceil(d.load()/float64(d.Replicas-missing)), e.Ceilings[len(e.Ceilings)-1].Places
	if least <= most {
		fmt.Fprintf(b, "1 × peak, in a rollout: [%d, %d]\n", least, most)
		return
	}
	fmt.Fprintf(b, "1 × peak, in a rollout: floor %d > ceiling %d", least, most)
	gentle := d.ceiling(d.MaxReplicas+1+d.Draining, "")
	if least = ceil(each); least <= gentle.Places {
		fmt.Fprintf(b, "; maxSurge 1 and maxUnavailable 0 allow [%d, %d]", least, gentle.Places)
	}
	b.WriteString("\n")
}

// levers writes those that can be pulled: where the limit leaves no place for each
// replica, no latency is short enough.
func (e *Infeasible) levers(value func(Lever) float64) string {
	var s []string
	for _, l := range e.Levers {
		x := value(l)
		if !l.AtLeast && x <= 0 || l.Name == "refuse" && x >= 1 {
			continue
		}
		switch l.Name {
		case "limit":
			s = append(s, fmt.Sprintf("limit >= %.0f", x))
		case "refuse":
			s = append(s, fmt.Sprintf("refuse >= %s", atLeast(x)))
		case "mean latency":
			s = append(s, fmt.Sprintf("mean latency <= %.3g s", x))
		case "rate":
			s = append(s, fmt.Sprintf("rate <= %.4g/s", x))
		}
	}
	return strings.Join(s, " | ")
}

func bounds(all []Bound) string {
	s := make([]string, len(all))
	for i, b := range all {
		s[i] = b.String()
	}
	return strings.Join(s, "; ")
}
