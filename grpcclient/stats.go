package grpcclient

import (
	"time"

	"google.golang.org/grpc/connectivity"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Stats is a connection at one instant.
type Stats struct {
	Upstream     string        `json:"upstream"`
	Plan         capacity.Plan `json:"plan"`
	Places       int           `json:"places"`       // the plan's, or fewer if the upstream allows fewer streams
	InFlight     int           `json:"inFlight"`     // calls that hold a place, streams included
	Streams      int           `json:"streams"`      // of these
	Queued       int           `json:"queued"`       // calls that wait for one
	Open         int           `json:"open"`         // connections that are ready
	Oldest       time.Duration `json:"oldest"`       // age of the oldest of them; 0 with a load-balancing policy of your own
	Room         int64         `json:"room"`         // streams that the upstream allows on them; 0 if it states no limit
	Rate         float64       `json:"rate"`         // attempts per second over the last minute
	Required     float64       `json:"required"`     // places that the traffic of the last minute needs
	Hold         time.Duration `json:"hold"`         // mean time in flight over the last minute
	Refused      uint64        `json:"refused"`      // since New, for any reason
	OverLimit    uint64        `json:"overLimit"`    // attempts since New that had to wait for a stream
	RetryBalance float64       `json:"retryBalance"` // retries that the budget allows now
	Observing    bool          `json:"observing"`    // in observe mode
	Draining     bool          `json:"draining"`     // shut down, or about to be
}

// Stats reads the connection.
func (c *Conn) Stats() Stats {
	core, err := c.alive()
	if err != nil {
		return Stats{}
	}
	now := time.Now()
	s, streams := core.gate.Snapshot(), core.streams.Snapshot()
	rate, hold := core.flow.Measure(now)
	stats := Stats{
		Upstream:     core.name,
		Plan:         core.sizes.Load().plan,
		Places:       s.Places,
		InFlight:     s.InFlight,
		Streams:      streams.InFlight,
		Queued:       s.Waiting + streams.Waiting,
		Open:         core.open(),
		Oldest:       core.pool.oldest(now),
		Room:         core.roomNow(),
		Rate:         rate,
		Required:     rate * hold.Seconds(),
		Hold:         hold,
		OverLimit:    core.rpc.OverLimits(),
		RetryBalance: core.budget.Balance(now),
		Observing:    s.Observing,
		Draining:     s.Draining,
	}
	for i := range s.Refused {
		stats.Refused += s.Refused[i] + streams.Refused[i]
	}
	return stats
}

// Failures are the last errors of the upstream, one of each outcome that is its
// failure or its word that it is busy, the latest first: of attempts, those among
// them that a retry made good, of streams, of dials, and of calls that ran out of
// time in the queue.
func (c *Conn) Failures() []offtake.Failure {
	core, err := c.alive()
	if err != nil {
		return nil
	}
	return core.telemetry.Failures()
}

// roomNow is how many streams the connections may carry, or 0 without a limit.
func (c *core) roomNow() int64 {
	c.fitting.Lock()
	defer c.fitting.Unlock()
	if c.room >= unlimited {
		return 0
	}
	return c.room
}

// open is how many connections are ready; with a policy that is not ours, how many
// channels are.
func (c *core) open() int {
	if c.balancing.own {
		return int(c.pool.ready.Load())
	}
	n := 0
	for _, ch := range c.channels {
		if ch.ready() {
			n++
		}
	}
	return n
}

func (ch *channel) ready() bool { return ch.GetState() == connectivity.Ready }

// state is what the metrics show at each scrape.
func (c *core) state() telemetry.State {
	now := time.Now()
	s, streams := c.gate.Snapshot(), c.streams.Snapshot()
	refusals := make([]telemetry.Refusals, gate.Reasons)
	for i := range refusals {
		refusals[i] = telemetry.Refusals{
			Reason:   gate.Reason(i).String(),
			Refused:  s.Refused[i] + streams.Refused[i],
			Observed: s.Observed[i] + streams.Observed[i],
		}
	}
	open, active := c.open(), c.active()
	return telemetry.State{
		InFlight: s.InFlight, Queued: s.Waiting + streams.Waiting, Places: s.Places,
		Required:     c.flow.Required(now),
		Refusals:     refusals,
		Limited:      []telemetry.Refusals{{Reason: "retry_budget", Refused: c.unpaid.Load(), Observed: c.lent.Load()}},
		RetryBalance: c.budget.Balance(now),
		Active:       active,
		Idle:         max(0, open-active),
	}
}

// active is how many connections carry calls; with a policy that is not ours, how
// many channels do.
func (c *core) active() int {
	n := 0
	if !c.balancing.own {
		for _, ch := range c.channels {
			if ch.calls.Load() > 0 {
				n++
			}
		}
		return n
	}
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	for l := range c.pool.linksLocked() {
		if l.state == connectivity.Ready && l.streams.Load() > 0 {
			n++
		}
	}
	return n
}
