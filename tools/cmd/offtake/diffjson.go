package main

import "github.com/offtake-go/offtake/tools/check/change"

func jsonDiff(parts []part) any {
	type side struct {
		Places   int    `json:"places"`
		AtPeak   string `json:"atPeak"`
		Degraded string `json:"degraded,omitempty"`
	}
	type effect struct {
		Upstream string `json:"upstream"`
		Worse    bool   `json:"worse"`
		Old      side   `json:"old"`
		New      side   `json:"new"`
	}
	type changed struct {
		Path     string `json:"path"`
		Old      string `json:"old"`
		New      string `json:"new"`
		Capacity bool   `json:"capacity"`

		Alone []effect `json:"alone,omitempty"`
	}
	type diff struct {
		Capacity bool      `json:"capacity"`
		Changes  []changed `json:"changes"`
		Effects  []effect  `json:"effects"`

		Only         string          `json:"only,omitempty"`
		Environments map[string]diff `json:"environments,omitempty"`
	}
	effects := func(all []change.Effect) []effect {
		list := []effect{}
		for _, e := range all {
			list = append(list, effect{
				e.Upstream, e.Worse, side{e.Old.Places, e.Old.AtPeak(), e.Old.AtDegraded()}, side{e.New.Places, e.New.AtPeak(), e.New.AtDegraded()},
			})
		}
		return list
	}
	of := func(p part) diff {
		d := diff{Capacity: p.Capacity(), Changes: []changed{}, Effects: effects(p.Effects), Only: p.only}
		for _, ch := range p.Changes {
			d.Changes = append(d.Changes, changed{ch.Path, ch.Old, ch.New, ch.Capacity, effects(ch.Alone)})
		}
		return d
	}
	out := of(parts[0])
	for _, p := range parts[1:] {
		if out.Environments == nil {
			out.Environments = map[string]diff{}
		}
		out.Environments[p.environment] = of(p)
	}
	return out
}
