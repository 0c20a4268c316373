package httpclient

import (
	"time"

	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// state is what the metrics show at each scrape.
func (c *core) state() telemetry.State {
	now := time.Now()
	s := c.gate.Snapshot()
	refusals := make([]telemetry.Refusals, gate.Reasons)
	for i := range refusals {
		refusals[i] = telemetry.Refusals{Reason: gate.Reason(i).String(), Refused: s.Refused[i], Observed: s.Observed[i]}
	}
	open := c.dialer.open()
	return telemetry.State{
		InFlight: s.InFlight, Queued: s.Waiting, Places: s.Places,
		Required:     c.flow.Required(now),
		Refusals:     refusals,
		Limited:      c.limits.counts(),
		RetryBalance: c.budget.Balance(now),
		Active:       min(open, s.InFlight),
		Idle:         max(0, open-s.InFlight),
		Upgraded:     int(c.dialer.upgraded.Load()),
	}
}
