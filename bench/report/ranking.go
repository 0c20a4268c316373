package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/offtake-go/offtake/bench/measure"
)

// rank is one figure of trouble: whose is best, and why, if it is not offtake's.
type rank struct {
	What, Ours, Winner, Best, Why string // Winner is "" if nobody is ahead
}

// contest is a figure of which less is better, for all who have it. Margin is by
// how much another must be ahead to be called so: what a second run may change.
type contest struct {
	what   string
	value  map[string]float64
	say    func(float64) string
	margin float64 // share of the better figure
	least  float64 // and at least so much
	why    reasons // why another may be ahead
}

// reasons are by the name of who is ahead; "" is for all that are not named.
type reasons map[string]string

func (r reasons) of(name string) string {
	if why, ok := r[name]; ok {
		return why
	}
	return r[""]
}

func (r *Report) ranking() Table {
	t := Table{
		Name: "ranking", Words: true,
		Lead: "Who is ahead in trouble; level is what a second run may turn round.",
		Head: []string{"trouble", ours, "best of the others", "ahead", "why"},
	}
	for _, k := range r.ranked() {
		winner := k.Winner
		if winner == "" {
			winner = "offtake, or level"
		}
		t.Rows = append(t.Rows, []string{k.What, k.Ours, k.Best, winner, k.Why})
	}
	return t
}

func (r *Report) ranked() []rank {
	var all []rank
	for _, c := range r.contests() {
		mine, ok := c.value[ours]
		if !ok {
			continue
		}
		best, who := math.Inf(1), ""
		for name, v := range c.value {
			if name != ours && (v < best || v == best && name < who) {
				best, who = v, name
			}
		}
		if who == "" {
			continue
		}
		k := rank{What: c.what, Ours: c.say(mine), Best: fmt.Sprintf("%s (%s)", c.say(best), who)}
		if mine-best > max(c.least, c.margin*math.Abs(best)) {
			k.Winner, k.Why = who, c.why.of(who)
		}
		all = append(all, k)
	}
	return all
}

func count(v float64) string { return fmt.Sprintf("%.0f", v) }

// kept says a share of which the rest was measured, so that less is better.
func kept(v float64) string { return percent(1 - v) }

// orNever makes what did not come while it was watched later than all that did.
func orNever(s float64) float64 {
	if s < 0 {
		return math.Inf(1)
	}
	return s
}

func sayOrNever(s float64) string {
	if math.IsInf(s, 1) {
		return "not while watched"
	}
	return fmt.Sprintf("%.1f s", s)
}

func values[T any](all []T, name func(T) string, value func(T) float64) map[string]float64 {
	m := make(map[string]float64, len(all))
	for _, x := range all {
		m[name(x)] = value(x)
	}
	return m
}

func (r *Report) contests() []contest {
	return slices.Concat(r.ofLoad(), r.ofRepetition(), r.ofConnections(), r.ofBodies())
}

// stops is why a breaker may be ahead.
func stops() reasons {
	return reasons{"failsafe-go, four policies": "its breaker stops calls while half of them fail; offtake has none, and sends what its places and budget allow"}
}

func (r *Report) ofLoad() []contest {
	at := func(offered float64, value func(measure.Overload) float64) map[string]float64 {
		m := map[string]float64{}
		for _, o := range r.Overload {
			if v := value(o); o.Offered == offered && !math.IsNaN(v) {
				m[o.Name] = v
			}
		}
		return m
	}
	stalls := reasons{"": "an attempt has a third of a call's time with offtake, and all of it here: where the machine stands still for 60 ms, that costs offtake the connection"}
	lost := func(o measure.Overload) float64 { return 1 - o.Goodput }
	p99 := func(o measure.Overload) float64 {
		if o.P99 == 0 {
			return math.NaN() // of no good call: that is not the quickest
		}
		return o.P99
	}
	waiters := func(value func(measure.Waiters) float64) map[string]float64 {
		return values(r.Waiters, func(w measure.Waiters) string { return w.Name }, value)
	}
	return []contest{
		{"goodput at twice the load", at(2, lost), kept, 0, 0.05, stalls},
		{"goodput at three times the load", at(3, lost), kept, 0, 0.05, stalls},
		{"p99 of those, at twice the load", at(2, p99), milliseconds, 0.1, 0, nil},
		{"wasted requests at twice the load", at(2, func(o measure.Overload) float64 { return float64(o.Wasted) }), count, 0, 5, stalls},
		{"dials at twice the load", at(2, func(o measure.Overload) float64 { return float64(o.Dials) }), count, 0, 5, stalls},
		{"memory of a call in a crowd", waiters(func(w measure.Waiters) float64 { return w.During }), inBytes, 0.1, 200, nil},
		{"and what stays of it", waiters(func(w measure.Waiters) float64 { return w.After }), inBytes, 0.1, 200, nil},
	}
}

func (r *Report) ofRepetition() []contest {
	outage := func(value func(measure.Outage) float64) map[string]float64 {
		m := map[string]float64{}
		for _, o := range r.Outage {
			if o.One > 1 && o.Hung == 0 { // others repeat nothing, in trouble or out of it, or never answer
				m[o.Name] = value(o)
			}
		}
		return m
	}
	brownOut := func(value func(measure.BrownOut) float64) map[string]float64 {
		return values(r.BrownOut, func(b measure.BrownOut) string { return b.Name }, value)
	}
	recovery := values(r.Recovery, func(x measure.Recovery) string { return x.Name }, func(x measure.Recovery) float64 { return orNever(x.Seconds) })
	death := values(r.Death, func(d measure.Death) string { return d.Name }, func(d measure.Death) float64 { return float64(d.Requests) })
	return []contest{
		{"requests per call in an outage, of those who repeat any and answer", outage(func(o measure.Outage) float64 { return o.One }), two, 0.1, 0.05, stops()},
		{"and through three layers", outage(func(o measure.Outage) float64 { return o.Three }), two, 0.1, 0.05, stops()},
		{"calls answered in a brown-out", brownOut(func(b measure.BrownOut) float64 { return 1 - b.Good }), kept, 0, 0.03,
			reasons{"": "more attempts are sent: it has no budget, which this trouble forgives"}},
		{"connections opened in a brown-out", brownOut(func(b measure.BrownOut) float64 { return float64(b.Dials) }), count, 0.2, 10,
			reasons{"": "each request that hangs costs its connection once the attempt is given up, and a repetition may hang too: who waits for the caller's deadline, or sends less, opens fewer and answers fewer calls in time"}},
		{"well again after a latency bump", recovery, sayOrNever, 0.1, 0.5, reasons{
			"failsafe-go, four policies": stops().of("failsafe-go, four policies"),
			"net/http, MaxConnsPerHost":  "a call holds its connection for all of its second, so that less is sent",
		}},
		{"times a query of death is sent", death, count, 0, 0, nil},
	}
}

func (r *Report) ofConnections() []contest {
	burst := func(value func(measure.FirstBurst) float64) map[string]float64 {
		return values(r.FirstBurst, func(f measure.FirstBurst) string { return f.Name }, value)
	}
	hung := func(value func(measure.HungDial) float64) map[string]float64 {
		return values(r.HungDial, func(h measure.HungDial) string { return h.Name }, value)
	}
	dead := values(r.DeadAddress, func(d measure.DeadAddress) string { return d.Name },
		func(d measure.DeadAddress) float64 { return 1 - share(d.Answered, d.Calls) })
	return []contest{
		{"last answer of a first burst, cold", burst(func(f measure.FirstBurst) float64 { return f.Cold.Last }), milliseconds, 0.25, 20,
			reasons{"": "it dials for all calls at once, offtake eight at a time: a crowd of handshakes is what a recovering upstream can least bear, and a pool is to be warm before calls come"}},
		{"the same, as warm as can be", burst(func(f measure.FirstBurst) float64 {
			if f.Warmed != nil {
				return f.Warmed.Last
			}
			return f.AfterOne.Last
		}), milliseconds, 0.25, 20, nil},
		{"dials that hang at once", hung(func(h measure.HungDial) float64 { return float64(h.Hanging) }), count, 0, 1, stops()},
		{"answered again after a hung dial", hung(func(h measure.HungDial) float64 { return orNever(h.Back) }), sayOrNever, 0.1, 0.3, reasons{
			"":                          "it dials anew for each call, however many dials hang already, so that one is always fresh",
			"net/http, MaxConnsPerHost": "one of its four dials was the first whose SYN the kernel sent again",
		}},
		{"calls answered at a dead first address", dead, kept, 0, 0.05, nil},
	}
}

func (r *Report) ofBodies() []contest {
	leak := func(value func(measure.Leak) float64) map[string]float64 {
		return values(r.Leak, func(l measure.Leak) string { return l.Name }, value)
	}
	return []contest{
		{"calls answered after forgotten bodies", leak(func(l measure.Leak) float64 { return 1 - share(l.Answered, l.Calls) }), kept, 0, 0.05,
			reasons{"": "without a bound a new connection is dialed for each; the forgotten ones stay open for good, unless a deadline of the client's cuts them"}},
		{"connections at the end of that", leak(func(l measure.Leak) float64 { return float64(l.Open) }), count, 0, 2,
			reasons{"": "a deadline of the client's cuts the body with the call"}},
	}
}

func share(part, whole int) float64 { return float64(part) / float64(max(whole, 1)) }

func two(v float64) string { return fmt.Sprintf("%.2f", v) }

// inBytes says a difference of two heaps: less than nothing is noise.
func inBytes(v float64) string { return fmt.Sprintf("%.0f B", max(v, 0)) }
