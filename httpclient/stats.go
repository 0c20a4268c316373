package httpclient

import (
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

// Stats is a client at one instant.
type Stats struct {
	Upstream     string        `json:"upstream"`
	Plan         capacity.Plan `json:"plan"`
	Places       int           `json:"places"`       // there are; fewer than planned if the upstream turned HTTP/2 down
	InFlight     int           `json:"inFlight"`     // calls that hold a place
	Queued       int           `json:"queued"`       // calls that wait for one
	Open         int           `json:"open"`         // connections, for calls
	Oldest       time.Duration `json:"oldest"`       // age of the oldest of them
	Upgraded     int           `json:"upgraded"`     // connections that were upgraded, and belong to their callers
	Leaked       uint64        `json:"leaked"`       // bodies that nobody read or closed, since New
	Stuck        int           `json:"stuck"`        // bodies of requests whose Read or Close has not returned though the call has ended
	Rate         float64       `json:"rate"`         // attempts per second over the last minute
	Required     float64       `json:"required"`     // places that the traffic of the last minute needs
	Hold         time.Duration `json:"hold"`         // mean time in flight over the last minute
	Refused      uint64        `json:"refused"`      // since New, for any reason
	RetryBalance float64       `json:"retryBalance"` // retries that the budget allows now
	Observing    bool          `json:"observing"`    // in observe mode
	Draining     bool          `json:"draining"`     // shut down, or about to be
}

// Stats reads the client. Those of one that New has not made are zero.
func (c *Client) Stats() Stats {
	core, err := c.alive()
	if err != nil {
		return Stats{}
	}
	now := time.Now()
	s := core.gate.Snapshot()
	conns := core.pool.Counts()
	rate, hold := core.flow.Measure(now)
	stats := Stats{
		Upstream:     core.name,
		Plan:         *core.plan.Load(),
		Places:       s.Places,
		InFlight:     s.InFlight,
		Queued:       s.Waiting,
		Open:         conns.Open,
		Oldest:       conns.Oldest,
		Upgraded:     conns.Upgraded,
		Leaked:       core.telemetry.Leaks(),
		Stuck:        int(core.stuck.Load()),
		Rate:         rate,
		Hold:         hold,
		Required:     rate * hold.Seconds(),
		RetryBalance: core.budget.Balance(now),
		Observing:    s.Observing,
		Draining:     s.Draining,
	}
	for _, n := range s.Refused {
		stats.Refused += n
	}
	return stats
}

// Failures are the last errors of the upstream, one of each outcome that is its
// failure or its word that it is busy, the latest first: of attempts, those among
// them that a retry made good, of dials, and of calls that ran out of time in the
// queue. Those of one that New has not made are none.
func (c *Client) Failures() []offtake.Failure {
	core, err := c.alive()
	if err != nil {
		return nil
	}
	return core.telemetry.Failures()
}
