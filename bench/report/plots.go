package report

import (
	"fmt"
	"html/template"
	"slices"

	"github.com/offtake-go/offtake/bench/measure"
)

// figure is a plot with what it says.
type figure struct {
	Title, Lead string
	Plot        template.HTML
	Table       Table
}

// figures are the plots of the page, each with the table that it draws.
func (r *Report) figures() []figure {
	costs := r.costs()
	all := []figure{
		{"Goodput under overload", r.overload().Lead, goodput(r.Overload), r.overload()},
		{"A latency bump", r.recovery().Lead, r.recoveryPlot().SVG(), r.recovery()},
		{"Requests for each call in an outage", r.outage().Lead + " Hollow: one layer; filled: three. Log axis.", r.outagePlot().SVG(), r.outage()},
		{"Connections opened in a brown-out", r.brownOut().Lead, r.brownOutPlot().SVG(), r.brownOut()},
		{"The first burst", r.firstBurst().Lead + " Hollow: cold; grey: after one call; filled: warmed. Log axis.", r.firstBurstPlot().SVG(), r.firstBurst()},
		{"A dial that hangs", r.hungDial().Lead + " Log axis.", r.hungDialPlot().SVG(), r.hungDial()},
		{"A dead first address", r.deadAddress().Lead, r.deadAddressPlot().SVG(), r.deadAddress()},
		{"Forgotten bodies", r.leak().Lead, r.leakPlot().SVG(), r.leak()},
		{"A query of death", r.death().Lead, r.deathPlot().SVG(), r.death()},
		{"A crowd", r.waiters().Lead + " Hollow: after they left; filled: two seconds after they came. Log axis.", r.waitersPlot().SVG(), r.waiters()},
		{"What a layer costs", "A transport answers at once, so that only the layer is measured: CPU of the whole process. The dot is the first quarter of all rounds, the bar goes from the least to the median. Log axis.", costPlot(r.Layer).SVG(), costs[0]},
		{"What a call costs: HTTP/1.1 on loopback", "Both sides.", costPlot(r.Loopback).SVG(), costs[1]},
		{"HTTP/1.1 with TLS", "Both sides.", costPlot(r.TLS).SVG(), costs[2]},
		{"HTTP/2", "Both sides.", costPlot(r.HTTP2).SVG(), costs[3]},
		{"gRPC", "A unary call, both sides.", costPlot(r.GRPC).SVG(), costs[4]},
		{"Doors", "A request through a server's door, without a network.", costPlot(r.Doors).SVG(), costs[5]},
		{"Many at one thing", r.scaling().Lead + " Hollow: one core, one goroutine; grey: two cores, one each; filled: two cores, 64 each. Log axis.", r.scalingPlot().SVG(), r.scaling()},
	}
	return slices.DeleteFunc(all, func(f figure) bool { return f.Plot == "" })
}

func costPlot(costs []measure.Cost) plot {
	p := plot{title: "CPU µs", ticks: plain}
	if len(costs) == 0 {
		return p
	}
	sorted := slices.SortedStableFunc(slices.Values(costs), func(a, b measure.Cost) int {
		switch {
		case a.P25 < b.P25:
			return -1
		case a.P25 > b.P25:
			return 1
		}
		return 0
	})
	digits := 1
	if costs[0].P25 < 1000 {
		digits = 2
	}
	p.log = sorted[len(sorted)-1].P25 > 3*sorted[0].P25
	for _, c := range sorted {
		p.rows = append(p.rows, plotRow{
			name:  c.Name,
			marks: []plotMark{{value: c.P25 / 1000, low: c.Min / 1000, high: c.Median / 1000}},
			label: fmt.Sprintf("%+.*f µs, %+d allocs", digits, (c.P25-costs[0].P25)/1000, whole(c.Allocs)-whole(costs[0].Allocs)),
		})
	}
	p.rows[slices.IndexFunc(sorted, func(c measure.Cost) bool { return c.Name == costs[0].Name })].label =
		fmt.Sprintf("%.*f µs, %d allocs", digits, costs[0].P25/1000, whole(costs[0].Allocs))
	return p
}

func rows[T any](all []T, row func(T) plotRow) []plotRow {
	out := make([]plotRow, len(all))
	for i, x := range all {
		out[i] = row(x)
	}
	return out
}

func (r *Report) outagePlot() plot {
	return plot{title: "requests at the upstream for each call", log: true, ticks: plain, rows: rows(r.Outage, func(o measure.Outage) plotRow {
		label := fmt.Sprintf("%.2f, %.2f", o.One, o.Three)
		if o.Hung > 0 {
			label += fmt.Sprintf(", %d never answered", o.Hung)
		}
		return plotRow{o.Name, []plotMark{{value: o.One, style: 1}, {value: o.Three}}, label}
	})}
}

func (r *Report) recoveryPlot() plot {
	return plot{title: "seconds until 95 % are answered in time", ticks: plain, rows: rows(r.Recovery, func(x measure.Recovery) plotRow {
		m := plotMark{value: x.Seconds}
		if x.Seconds < 0 {
			m = plotMark{value: x.Watched, beyond: true}
		}
		return plotRow{x.Name, []plotMark{m}, fmt.Sprintf("%s, %.1f requests a call", seconds(x.Seconds, x.Watched), x.PerCall)}
	})}
}

func (r *Report) brownOutPlot() plot {
	return plot{title: "connections opened", ticks: plain, rows: rows(r.BrownOut, func(b measure.BrownOut) plotRow {
		return plotRow{b.Name, []plotMark{{value: float64(b.Dials)}}, fmt.Sprintf("%d, %s answered", b.Dials, percent(b.Good))}
	})}
}

func (r *Report) firstBurstPlot() plot {
	return plot{title: "ms until the last answer", log: true, ticks: plain, rows: rows(r.FirstBurst, func(f measure.FirstBurst) plotRow {
		row := plotRow{
			f.Name, []plotMark{{value: f.Cold.Last, style: 1}, {value: f.AfterOne.Last, style: 2}},
			fmt.Sprintf("%.0f, %.0f", f.Cold.Last, f.AfterOne.Last),
		}
		if f.Warmed != nil {
			row.marks = append(row.marks, plotMark{value: f.Warmed.Last})
			row.label += fmt.Sprintf(", warm %.0f", f.Warmed.Last)
		}
		return row
	})}
}

func (r *Report) hungDialPlot() plot {
	return plot{title: "dials that hang at once, at the most", log: true, ticks: plain, rows: rows(r.HungDial, func(h measure.HungDial) plotRow {
		return plotRow{h.Name, []plotMark{{value: float64(h.Hanging)}}, fmt.Sprintf("%d, back: %s", h.Hanging, seconds(h.Back, h.Watched))}
	})}
}

func (r *Report) deadAddressPlot() plot {
	return plot{title: "calls answered", ticks: plain, rows: rows(r.DeadAddress, func(d measure.DeadAddress) plotRow {
		return plotRow{d.Name, []plotMark{{value: float64(d.Answered)}}, fmt.Sprintf("%d of %d", d.Answered, d.Calls)}
	})}
}

func (r *Report) leakPlot() plot {
	return plot{title: "connections at the end", ticks: plain, rows: rows(r.Leak, func(l measure.Leak) plotRow {
		return plotRow{l.Name, []plotMark{{value: float64(l.Open)}}, fmt.Sprintf("%d, %d of %d answered", l.Open, l.Answered, l.Calls)}
	})}
}

func (r *Report) deathPlot() plot {
	return plot{title: "times it was sent", ticks: plain, rows: rows(r.Death, func(d measure.Death) plotRow {
		return plotRow{d.Name, []plotMark{{value: float64(d.Requests)}}, fmt.Sprint(d.Requests)}
	})}
}

func (r *Report) waitersPlot() plot {
	return plot{title: "bytes for each call", log: true, ticks: plain, rows: rows(r.Waiters, func(w measure.Waiters) plotRow {
		return plotRow{w.Name, []plotMark{{value: max(w.After, 1), style: 1}, {value: max(w.During, 1)}}, inBytes(w.During) + ", then " + inBytes(w.After)}
	})}
}

func (r *Report) scalingPlot() plot {
	p := plot{title: "CPU ns for one pass", log: true, ticks: plain}
	for _, name := range measure.Names(r.Scaling) {
		row := plotRow{name: name}
		for _, want := range []struct{ cores, perCore, style int }{{1, 1, 1}, {2, 1, 2}, {2, 64, 0}} {
			for _, s := range r.Scaling {
				if s.Name == name && s.Cores == want.cores && s.PerCore == want.perCore {
					row.marks = append(row.marks, plotMark{value: s.P25, style: want.style})
					if row.label != "" {
						row.label += ", "
					}
					row.label += fmt.Sprintf("%.0f", s.P25)
				}
			}
		}
		p.rows = append(p.rows, row)
	}
	return p
}
