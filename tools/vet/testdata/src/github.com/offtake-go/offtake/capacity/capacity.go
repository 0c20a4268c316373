package capacity

import "time"

type Plan struct {
	InFlight, Connections, Queue int
	Wait, Deadline               time.Duration
}

type Demand struct{ Rate float64 }

func (Demand) Plan() (Plan, error) { return Plan{InFlight: 24}, nil }
