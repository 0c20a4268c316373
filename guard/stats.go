package guard

import (
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Stats is a guard at one instant.
type Stats struct {
	Upstream     string        `json:"upstream"`
	Plan         capacity.Plan `json:"plan"`
	Places       int           `json:"places"`       // there are
	InFlight     int           `json:"inFlight"`     // calls that hold a place
	Queued       int           `json:"queued"`       // calls that wait for one
	Overdue      int           `json:"overdue"`      // of InFlight: out of time, and not back; they ignore their context, or nobody gave the place back
	Overran      uint64        `json:"overran"`      // calls that came back more than 100 ms after their time, since New
	Rate         float64       `json:"rate"`         // attempts per second over the last minute
	Required     float64       `json:"required"`     // places that the traffic of the last minute needs
	Hold         time.Duration `json:"hold"`         // mean time in a place over the last minute
	Refused      uint64        `json:"refused"`      // since New, for any reason
	RetryBalance float64       `json:"retryBalance"` // retries that the budget allows now
	Observing    bool          `json:"observing"`    // in observe mode
	Draining     bool          `json:"draining"`     // shut down, or about to be
}

// Stats reads the guard.
func (g *Guard) Stats() Stats {
	now := time.Now()
	s := g.gate.Snapshot()
	rate, hold := g.flow.Measure(now)
	stats := Stats{
		Upstream:     g.options.Name,
		Plan:         *g.plan.Load(),
		Places:       s.Places,
		InFlight:     s.InFlight,
		Queued:       s.Waiting,
		Overdue:      g.overdue(now),
		Overran:      g.overran.Load(),
		Rate:         rate,
		Hold:         hold,
		Required:     rate * hold.Seconds(),
		RetryBalance: g.budget.Balance(now),
		Observing:    s.Observing,
		Draining:     s.Draining,
	}
	for _, n := range s.Refused {
		stats.Refused += n
	}
	return stats
}

// Failures are the last errors of the upstream, one of each outcome that is its
// failure, the latest first.
func (g *Guard) Failures() []offtake.Failure { return g.telemetry.Failures() }

// state is what the metrics show at each scrape.
func (g *Guard) state() telemetry.State {
	now := time.Now()
	s := g.gate.Snapshot()
	state := telemetry.State{
		InFlight: s.InFlight, Queued: s.Waiting, Places: s.Places,
		Required:     g.flow.Required(now),
		Limited:      []telemetry.Refusals{{Reason: "retry_budget", Refused: g.broke.Load(), Observed: g.forgave.Load()}},
		RetryBalance: g.budget.Balance(now),
	}
	for i := range gate.Reasons {
		state.Refusals = append(state.Refusals, telemetry.Refusals{Reason: i.String(), Refused: s.Refused[i], Observed: s.Observed[i]})
	}
	if g.options.Connections != nil {
		state.Idle, state.Active = g.options.Connections()
	}
	return state
}
