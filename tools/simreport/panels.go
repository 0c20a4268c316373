package simreport

import (
	"math"
	"slices"

	"github.com/offtake-go/offtake/capacity/simulate"
)

// panels are the charts of one run, in the order of the story: what came, what
// failed and why, what was sent, where it stood, and what the controls did.
func panels(p *Played) []panel {
	r := p.Results[0]
	of := func(name, class string) series { return series{Series: r.Find(name), class: class} }
	return []panel{
		{"Calls and their end", "1/s", []series{of(simulate.SeriesCalls, "c1"), of(simulate.SeriesServed, "c2"), of(simulate.SeriesFailed, "c3")}},
		{"Why calls failed", "1/s", failures(r)},
		{"Tries for each call", "", []series{of(simulate.SeriesPerCall, "c4")}},
		{"95 % of calls ended within", "s", []series{of(simulate.SeriesLatency, "c1")}},
		{"In flight at the upstream", "", inFlight(p)},
		{"Waiting for a place", "", []series{of(simulate.SeriesQueue, "c3")}},
		{"Replicas ready and ejected", "", []series{of(simulate.SeriesReady, "c2"), of(simulate.SeriesEjected, "c3")}},
		{"Proxies in panic", "", []series{of(simulate.SeriesPanicking, "c3")}},
		{"Ejections that the cap refused", "1/s", []series{of(simulate.SeriesCapped, "c4")}},
		{"Restarts", "1/s", []series{of(simulate.SeriesRestarts, "c3")}},
	}
}

// inFlight is what is out beside the places for it in all ready replicas.
func inFlight(p *Played) []series {
	r := p.Results[0]
	all := []series{{Series: r.Find(simulate.SeriesInFlight), class: "c1"}}
	if n := p.File.Service.Client.Pool.Places; n > 0 {
		places := r.Find(simulate.SeriesReady)
		places.Name, places.Values = "places", slices.Clone(places.Values)
		for i := range places.Values {
			places.Values[i] *= float64(n)
		}
		all = append(all, series{Series: places, class: "c6"})
	}
	return all
}

// failures are the causes that occurred, stacked. A cause has the same colour in
// every run.
func failures(r *simulate.Result) []series {
	var all []series
	for _, c := range r.Causes() {
		s := r.Find(simulate.FailedBy(c))
		s.Name = c.String()
		all = append(all, series{Series: s, class: classOf(c), area: true})
	}
	if len(all) == 0 {
		all = append(all, series{Series: r.Find(simulate.SeriesFailed), class: "c3", area: true})
	}
	return all
}

func classOf(c simulate.Cause) string {
	classes := []string{"c1", "c3", "c4", "c5", "c6", "c2"}
	return classes[int(c)%len(classes)]
}

// A pair is one panel of every run, on one scale.
type pair []chart

// pairs draws all panels that are not flat at 0 in every run.
func pairs(played []*Played) []pair {
	var each [][]panel
	for _, p := range played {
		each = append(each, panels(p))
	}
	var all []pair
	for i := range each[0] {
		top := 0.0
		for _, panels := range each {
			top = max(top, panels[i].top())
		}
		if top == 0 || isFlat(each, i) {
			continue
		}
		var row pair
		for j, panels := range each {
			c := panels[i].draw(top, played[j].Results[0].Moments)
			if len(played) > 1 {
				c.Run = played[j].File.Name
			}
			row = append(row, c)
		}
		all = append(all, row)
	}
	return all
}

// isFlat reports whether panel i shows one constant line in every run: tries for
// each call, where nothing is retried, or the replicas, where none comes or goes.
func isFlat(each [][]panel, i int) bool {
	least := 0.001
	if each[0][i].unit == "" {
		least = 0.1 // a tenth of a request, or of a replica, is nothing to look at
	}
	for _, panels := range each {
		for _, s := range panels[i].lines {
			for _, v := range s.Values[1:] {
				if math.Abs(v-s.Values[0]) > least*max(1, s.Values[0]) {
					return false
				}
			}
		}
	}
	return true
}
