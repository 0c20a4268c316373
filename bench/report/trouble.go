package report

import (
	"fmt"

	"github.com/offtake-go/offtake/bench/measure"
)

// trouble is a table for each trouble.
func (r *Report) trouble() []Table {
	return []Table{
		r.overload(), r.brownOut(), r.outage(), r.recovery(), r.firstBurst(),
		r.hungDial(), r.deadAddress(), r.leak(), r.death(), r.waiters(),
	}
}

func (r *Report) overload() Table {
	return Table{
		Name: "overload",
		Lead: "Ten connections of TLS, each busy for 20 ms with a call; callers leave after 200 ms. The capacity is what ten callers get, one call after the other, over the same transport, before each load: just under 500 calls a second. Goodput is the rate completed in time, as a share of that (of what was offered, below it).",
		Head: []string{"overload", "offered", "goodput", "p99", "dials", "wasted", "requests per call"},
		Rows: rowsOf(r.Overload, func(o measure.Overload) []string {
			return []string{
				o.Name, fmt.Sprintf("%g×", o.Offered), percent(o.Goodput), milliseconds(o.P99),
				fmt.Sprint(o.Dials), fmt.Sprint(o.Wasted), fmt.Sprintf("%.2f", o.PerCall),
			}
		}),
	}
}

func (r *Report) brownOut() Table {
	return Table{
		Name: "brown-out",
		Lead: "The upstream leaves every tenth request hanging and answers the others in 20 ms; 200 calls a second, whose callers leave after 200 ms; an attempt has 60 ms wherever that can be set.",
		Head: []string{"brown-out", "answered in time", "requests that hung", "connections opened", "requests per call"},
		Rows: rowsOf(r.BrownOut, func(b measure.BrownOut) []string {
			return []string{b.Name, percent(b.Good), fmt.Sprint(b.Hung), fmt.Sprint(b.Dials), fmt.Sprintf("%.2f", b.PerCall)}
		}),
	}
}

func (r *Report) outage() Table {
	return Table{
		Name: "outage",
		Lead: "The upstream answers 503 to all. How many requests reach it for each call at the top, through one service and through three in a row? After 10 s the caller at the top gives up: some layers leave the bodies of repeated attempts open, and their pools run dry.",
		Head: []string{"outage", "one layer", "three layers", "calls never answered"},
		Rows: rowsOf(r.Outage, func(o measure.Outage) []string {
			return []string{o.Name, fmt.Sprintf("%.2f", o.One), fmt.Sprintf("%.2f", o.Three), fmt.Sprintf("%d of %d", o.Hung, 2*o.Calls)}
		}),
	}
}

func (r *Report) recovery() Table {
	lead := "An upstream of ten workers, 20 ms a request, finishes what it has begun even when the caller has left. It is offered 70 % of what it carries; for a while a request takes it 200 ms."
	if len(r.Recovery) > 0 {
		lead = fmt.Sprintf("%s That while is %.0f s. How long after it are 95 %% of the calls answered in time again, for a second?", lead, r.Recovery[0].Bump)
	}
	return Table{
		Name: "recovery",
		Lead: lead + " A call has 1 s, an attempt 250 ms wherever that can be set.",
		Head: []string{"latency bump", "well again after", "backlog at its end", "answered in it", "requests per call"},
		Rows: rowsOf(r.Recovery, func(x measure.Recovery) []string {
			return []string{x.Name, seconds(x.Seconds, x.Watched), fmt.Sprint(x.Backlog), percent(x.During), fmt.Sprintf("%.2f", x.PerCall)}
		}),
	}
}

func (r *Report) firstBurst() Table {
	return Table{
		Name: "first-burst",
		Lead: "32 calls come at once to a new process; a handshake takes 50 ms, as over a distance, and a request 20 ms. The time until the last answer: cold, after one call (which is what a health check amounts to), and warmed by what the stack has for that.",
		Head: []string{"first burst", "cold", "dials", "after one call", "dials", "warmed", "dials"},
		Rows: rowsOf(r.FirstBurst, func(f measure.FirstBurst) []string {
			row := []string{f.Name, burst(f.Cold), fmt.Sprint(f.Cold.Dials), burst(f.AfterOne), fmt.Sprint(f.AfterOne.Dials)}
			if f.Warmed == nil {
				return append(row, "has nothing", "")
			}
			return append(row, burst(*f.Warmed), fmt.Sprint(f.Warmed.Dials))
		}),
	}
}

func burst(b measure.Burst) string {
	if b.Failed > 0 {
		return fmt.Sprintf("%s, %d failed", milliseconds(b.Last), b.Failed)
	}
	return milliseconds(b.Last)
}

func (r *Report) hungDial() Table {
	return Table{
		Name: "hung-dial",
		Lead: "The address answers no SYN for 3.5 s; 20 calls a second, whose callers leave after 500 ms, and four places. Dials are counted by the kernel.",
		Head: []string{"hung dial", "longest call", "dials hanging at once", "answered again after"},
		Rows: rowsOf(r.HungDial, func(h measure.HungDial) []string {
			return []string{h.Name, milliseconds(h.Longest), fmt.Sprint(h.Hanging), seconds(h.Back, h.Watched)}
		}),
	}
}

func (r *Report) deadAddress() Table {
	return Table{
		Name: "dead-address",
		Lead: "A name has two addresses, and the first swallows every SYN. Ten calls at once, each with 4 s.",
		Head: []string{"dead first address", "answered", "slowest answer"},
		Rows: rowsOf(r.DeadAddress, func(d measure.DeadAddress) []string {
			slowest := unmeasured
			if d.Answered > 0 {
				slowest = milliseconds(d.Slowest)
			}
			return []string{d.Name, fmt.Sprintf("%d of %d", d.Answered, d.Calls), slowest}
		}),
	}
}

func (r *Report) leak() Table {
	return Table{
		Name: "leak",
		Lead: "A caller forgets to close 16 bodies, as many as there are places; its context never ends. Then come ten calls a second, one at a time, each with 500 ms; the stack's own deadline is 1 s.",
		Head: []string{"forgotten bodies", "answered in the next 2 s", "first answer after", "connections at the end"},
		Rows: rowsOf(r.Leak, func(l measure.Leak) []string {
			return []string{l.Name, fmt.Sprintf("%d of %d", l.Answered, l.Calls), seconds(l.Back, l.Watched), fmt.Sprint(l.Open)}
		}),
	}
}

func (r *Report) death() Table {
	return Table{
		Name: "query-of-death",
		Lead: "One request makes the upstream hang up without an answer.",
		Head: []string{"query of death", "warm connections", "times it was sent"},
		Rows: rowsOf(r.Death, func(d measure.Death) []string {
			return []string{d.Name, fmt.Sprint(d.Warm), fmt.Sprint(d.Requests)}
		}),
	}
}

func (r *Report) waiters() Table {
	return Table{
		Name: "waiters",
		Lead: "A crowd of calls comes while the only connection is busy; all of them may wait, and do. Their goroutines' stacks are not counted.",
		Head: []string{"crowd", "calls", "bytes each, two seconds later", "bytes each, after they left"},
		Rows: rowsOf(r.Waiters, func(w measure.Waiters) []string {
			return []string{w.Name, fmt.Sprint(w.Count), inBytes(w.During), inBytes(w.After)}
		}),
	}
}
