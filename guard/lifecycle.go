package guard

import (
	"context"
	"fmt"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

// Warm calls Options.Warm, outside the places, and returns its error. Without one
// it returns nil at once.
func (g *Guard) Warm(ctx context.Context) error {
	if g.gate.Snapshot().Draining {
		return &offtake.Error{Upstream: g.options.Name, Err: offtake.ErrClosed}
	}
	if g.options.Warm == nil {
		return nil
	}
	if err := g.options.Warm(ctx); err != nil {
		return fmt.Errorf("guard: %s: warm: %w", g.options.Name, err)
	}
	return nil
}

// Resize gives the guard another plan while it is in use. Calls in flight keep the
// times they began with, and nobody who waits is turned away. A plan with mistakes
// changes nothing.
func (g *Guard) Resize(plan capacity.Plan) error {
	plan, err := plan.Resolve()
	if err != nil {
		return fmt.Errorf("guard: %s: %w", g.options.Name, err)
	}
	g.plan.Store(&plan)
	g.budget.Resize(plan.RetryShare)
	g.gate.Resize(limitsOf(plan))
	return nil
}

// Observe switches observe mode, for the gate and the retry budget: in it every
// decision is made and counted (offtake_client_refused_total and
// offtake_client_limited_total with observed="true"), and none is applied.
func (g *Guard) Observe(on bool) {
	g.observing.Store(on)
	g.gate.Observe(on)
}

// Shutdown refuses new calls with offtake.ErrClosed and waits until those that run
// or wait are done; then it closes the guard. If ctx ends first, it returns
// context.Cause(ctx) and leaves the guard draining.
func (g *Guard) Shutdown(ctx context.Context) error {
	if err := g.gate.Drain(ctx); err != nil {
		return fmt.Errorf("guard: %s: shutdown: %w", g.options.Name, err)
	}
	return g.Close()
}

// Close refuses new calls and those that wait, and takes the metrics off the
// registry. Functions in flight end by themselves. It always returns nil, and may
// be called again.
func (g *Guard) Close() error {
	g.gate.Close()
	g.telemetry.Close()
	return nil
}
