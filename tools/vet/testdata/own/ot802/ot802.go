package ot802

import "github.com/offtake-go/offtake/capacity"

const eight = 8

type holder struct{ plan capacity.Plan }

func literals(n int) {
	_ = capacity.Plan{InFlight: 24}                        // want `OT802: capacity.Plan states InFlight 24 by hand: derive it with capacity.Demand.Plan`
	_ = capacity.Plan{InFlight: eight, Connections: eight} // want `OT802: capacity.Plan states InFlight 8`
	_ = &capacity.Plan{Queue: 4}                           // want `OT802: capacity.Plan states Queue 4`
	_ = capacity.Plan{Wait: 1}
	_ = capacity.Plan{}
	_ = capacity.Plan{InFlight: n}
}

func assignments(n int, h *holder) {
	var p capacity.Plan
	p.InFlight = 10        // want `OT802: capacity.Plan is given InFlight 10 by hand`
	h.plan.Connections = 8 // want `OT802: capacity.Plan is given Connections 8 by hand`
	p.Queue = 0
	p.InFlight = n
	p.Wait = 1
}

func derived(d capacity.Demand) (capacity.Plan, error) { return d.Plan() }
