package report

import (
	"fmt"
	"slices"

	"github.com/offtake-go/offtake/bench/measure"
)

const ours = "offtake"

// targets are what was to be reached, each with what this run has.
func (r *Report) targets() Table {
	t := Table{Name: "targets", Words: true, Head: []string{"target", "measured", "met"}}
	add := func(target, measured string, met bool) {
		verdict := "no"
		if met {
			verdict = "yes"
		}
		t.Rows = append(t.Rows, []string{target, measured, verdict})
	}
	if layer, ok := costOf(r.Layer, ours); ok {
		over := (layer.P25 - r.Layer[0].P25) / 1000
		add("all of it costs at most 1.5 µs more than bare net/http", fmt.Sprintf("%+.2f µs (min %+.2f)", over, (layer.Min-r.Layer[0].Min)/1000), over <= 1.5)
		add("and 8 allocations", fmt.Sprintf("%+.0f", layer.AllocsOver), whole(layer.AllocsOver) <= 8)
	}
	for _, thing := range []string{"offtake's gate", "offtake's retry budget"} {
		if i := slices.IndexFunc(r.Scaling, func(s measure.Scaling) bool { return s.Name == thing }); i >= 0 {
			add(thing+" allocates nothing", fmt.Sprintf("%.0f", r.Scaling[i].Allocs), whole(r.Scaling[i].Allocs) == 0)
		}
	}
	if door, ok := costOf(r.Doors, ours); ok {
		add("the door allocates once at the most", fmt.Sprintf("%+.0f", door.AllocsOver), whole(door.AllocsOver) <= 1)
	}
	if grpc, ok := costOf(r.GRPC, ours); ok {
		add("a gRPC call allocates once more than a bare one at the most", fmt.Sprintf("%+.1f", grpc.AllocsOver), whole(grpc.AllocsOver) <= 1)
	}
	if twice, ok := overloadOf(r.Overload, ours, 2); ok {
		add("at twice the load, 95 % of what can be carried", percent(twice.Goodput), twice.Goodput >= 0.95)
	}
	if i := slices.IndexFunc(r.Outage, func(o measure.Outage) bool { return o.Name == ours }); i >= 0 {
		o := r.Outage[i]
		add("in an outage, 1.25 requests for each call", fmt.Sprintf("%.2f", o.One), o.One <= 1.25)
		add("and that for each of three layers", fmt.Sprintf("%.2f", o.Three), o.Three <= 1.25*1.25*1.25)
	}
	ahead, ranked := 0, r.ranked()
	for _, k := range ranked {
		if k.Winner == "" {
			ahead++
		}
	}
	if len(ranked) > 0 {
		add("ahead of every peer, or level, in each row of trouble, or the row says who wins and why",
			fmt.Sprintf("%d of %d ahead or level", ahead, len(ranked)), !slices.ContainsFunc(ranked, func(k rank) bool { return k.Winner != "" && k.Why == "" }))
	}
	return t
}

// whole is the number of allocations that an average of whole numbers stands for:
// a collection in the middle of a round adds some hundredths.
func whole(allocs float64) int { return int(allocs + 0.5) }

func costOf(costs []measure.Cost, name string) (measure.Cost, bool) {
	for _, c := range costs {
		if c.Name == name {
			return c, true
		}
	}
	return measure.Cost{}, false
}

func overloadOf(overloads []measure.Overload, name string, offered float64) (measure.Overload, bool) {
	for _, o := range overloads {
		if o.Name == name && o.Offered == offered {
			return o, true
		}
	}
	return measure.Overload{}, false
}

// summary is offtake beside what most would pick instead.
func (r *Report) summary() Table {
	who := []string{"net/http", "go-retryablehttp", "failsafe-go, four policies", ours}
	t := Table{Name: "summary", Head: append([]string{""}, who...)}
	row := func(what string, figure func(name string) string) {
		cells := []string{what}
		for _, name := range who {
			cells = append(cells, figure(name))
		}
		if slices.ContainsFunc(cells[1:], func(cell string) bool { return cell != unmeasured }) {
			t.Rows = append(t.Rows, cells)
		}
	}
	row("a call over a transport that does nothing, CPU", func(name string) string {
		return found(costOf(r.Layer, name))(func(c measure.Cost) string { return fmt.Sprintf("%.1f µs", c.P25/1000) })
	})
	row("its allocations", func(name string) string {
		return found(costOf(r.Layer, name))(func(c measure.Cost) string { return fmt.Sprintf("%.0f", c.Allocs) })
	})
	row("goodput at twice the load", func(name string) string {
		return found(overloadOf(r.Overload, name, 2))(func(o measure.Overload) string { return percent(o.Goodput) })
	})
	row("requests for each call in an outage, one layer", func(name string) string {
		return found(one(r.Outage, name, func(o measure.Outage) string { return o.Name }))(func(o measure.Outage) string { return fmt.Sprintf("%.2f", o.One) })
	})
	row("and three layers", func(name string) string {
		return found(one(r.Outage, name, func(o measure.Outage) string { return o.Name }))(func(o measure.Outage) string { return fmt.Sprintf("%.1f", o.Three) })
	})
	row("well again after a latency bump", func(name string) string {
		return found(one(r.Recovery, name, func(x measure.Recovery) string { return x.Name }))(func(x measure.Recovery) string { return seconds(x.Seconds, x.Watched) })
	})
	row("times a query of death is sent", func(name string) string {
		return found(one(r.Death, name, func(d measure.Death) string { return d.Name }))(func(d measure.Death) string { return fmt.Sprint(d.Requests) })
	})
	row("last answer of a first burst, as warm as can be", func(name string) string {
		return found(one(r.FirstBurst, name, func(f measure.FirstBurst) string { return f.Name }))(func(f measure.FirstBurst) string {
			if f.Warmed != nil {
				return burst(*f.Warmed)
			}
			return burst(f.AfterOne)
		})
	})
	row("answers of ten when the first address is dead", func(name string) string {
		return found(one(r.DeadAddress, name, func(d measure.DeadAddress) string { return d.Name }))(func(d measure.DeadAddress) string { return fmt.Sprint(d.Answered) })
	})
	return t
}

// one is the thing of that name.
func one[T any](all []T, name string, of func(T) string) (T, bool) {
	for _, x := range all {
		if of(x) == name {
			return x, true
		}
	}
	var none T
	return none, false
}

// unmeasured stands for a figure that there is not.
const unmeasured = "–"

// found says something of a thing, if there is one.
func found[T any](x T, ok bool) func(say func(T) string) string {
	return func(say func(T) string) string {
		if !ok {
			return unmeasured
		}
		return say(x)
	}
}
