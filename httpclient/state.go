package httpclient

import (
	"time"

	"github.com/offtake-go/offtake/internal/endpoint"
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
	conns, judged := c.pool.Counts(), c.pool.Judgements()
	left := make([]telemetry.Refusals, endpoint.Reasons)
	for i := range left {
		left[i] = telemetry.Refusals{Reason: endpoint.Reason(i).String(), Refused: judged.Applied[i], Observed: judged.Observed[i]}
	}
	return telemetry.State{
		InFlight: s.InFlight, Queued: s.Waiting, Places: s.Places,
		Required:     c.flow.Required(now),
		Refusals:     refusals,
		Limited:      c.limits.counts(),
		RetryBalance: c.budget.Balance(now),
		Active:       conns.Open - conns.Idle,
		Idle:         conns.Idle,
		Upgraded:     conns.Upgraded,
		Endpoints:    judged.Endpoints,
		LeftOut:      judged.Out,
		Left:         left,
	}
}
