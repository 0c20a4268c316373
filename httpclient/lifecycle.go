package httpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/gate"
)

// Resize gives the client another plan while it is in use. Calls in flight keep
// the times they began with; nobody who waits is turned away; connections above
// the new number close as they become idle. A plan with mistakes changes
// nothing.
func (c *Client) Resize(plan capacity.Plan) error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	core.resizing.Lock() // or two would leave plan and gate apart
	defer core.resizing.Unlock()
	plan, err = plan.Resolve()
	if err = errors.Join(err, core.options.check(plan, core.target.scheme)); err != nil {
		return fmt.Errorf("httpclient: %s: %w", core.name, err)
	}
	core.plan.Store(&plan)
	core.budget.Resize(plan.RetryShare)
	core.pool.Resize(sizesOf(plan))
	core.gate.Resize(core.limitsOf(plan))
	return nil
}

// limitsOf is the part of a plan that the gate applies. With an upstream that
// does not share connections, a place is a connection whatever was planned.
func (c *core) limitsOf(p capacity.Plan) gate.Limits {
	places := p.InFlight
	if c.pool.Plain() {
		places = p.Connections
	}
	return gate.Limits{Places: places, Queue: max(0, p.Queue), Wait: p.Wait}
}

// Observe switches observe mode. In it every decision is made and counted
// (offtake_client_refused_total and offtake_client_limited_total with
// observed="true"), and none is applied: places and the queue for them, Attempt,
// BodyIdle, Deadline, MaxBody, MaxHeader if Options.Observe was set, retries, of which
// none is sent, and the number of connections. A call then ends when its upstream
// or its caller does, as with net/http. What is configuration holds in both modes:
// redirects, Gzip, proxy, hosts, protocols, Connect, Idle, MaxAge.
func (c *Client) Observe(on bool) {
	if core, err := c.alive(); err == nil {
		core.observe(on)
	}
}

func (c *core) observe(on bool) {
	c.gate.Observe(on)
	c.pool.Observe(on)
	c.limits.observing.Store(on)
}

// Shutdown refuses new calls with offtake.ErrClosed and waits until those that
// run or wait are done, bodies included; then it closes the client. If ctx ends
// first, it returns context.Cause(ctx) and leaves the client draining: call
// Close to end the rest.
func (c *Client) Shutdown(ctx context.Context) error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	core.pool.Rest()
	if err := core.gate.Drain(ctx); err != nil {
		return fmt.Errorf("httpclient: %s: shutdown: %w", core.name, err)
	}
	return c.Close()
}

// Close refuses new calls and those that wait, closes idle connections, cancels
// dials, waits for what the client itself has under way, and takes the metrics
// off the registry. Calls in flight end by themselves, their connections with
// them. It always returns nil for a client that New made, and may be called
// again.
func (c *Client) Close() error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	core.gate.Close()
	core.pool.Close()
	core.telemetry.Close()
	return nil
}
