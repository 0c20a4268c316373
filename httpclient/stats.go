package httpclient

import (
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// Stats is a client at one instant.
type Stats struct {
	Upstream  string        `json:"upstream"`
	Plan      capacity.Plan `json:"plan"`
	InFlight  int           `json:"inFlight"`  // calls that hold a place
	Queued    int           `json:"queued"`    // calls that wait for one
	Open      int           `json:"open"`      // connections
	Rate      float64       `json:"rate"`      // attempts per second over the last minute
	Required  float64       `json:"required"`  // places that the traffic of the last minute needs
	Hold      time.Duration `json:"hold"`      // mean time in flight over the last minute
	Refused   uint64        `json:"refused"`   // since New, for any reason
	Retries   float64       `json:"retries"`   // that the budget allows now
	Observing bool          `json:"observing"` // in observe mode
	Draining  bool          `json:"draining"`  // shut down, or about to be
}

// Stats reads the client.
func (c *Client) Stats() Stats {
	now := time.Now()
	s := c.core.gate.Snapshot()
	rate, hold := c.core.flow.Measure(now)
	stats := Stats{
		Upstream:  c.core.name,
		Plan:      *c.core.plan.Load(),
		InFlight:  s.InFlight,
		Queued:    s.Waiting,
		Open:      c.core.dialer.open(),
		Rate:      rate,
		Hold:      hold,
		Required:  rate * hold.Seconds(),
		Retries:   c.core.budget.Balance(now),
		Observing: s.Observing,
		Draining:  s.Draining,
	}
	for _, n := range s.Refused {
		stats.Refused += n
	}
	return stats
}
