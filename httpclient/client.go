package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Client calls one upstream. It is a *http.Client, so that Client.Client can be
// handed to anything that takes one; its transport is where all bounds are, and
// they hold whatever is built on top.
//
// Make one with [New], one for each upstream, and share it: all methods may be
// called from any goroutine. A copy is the same client. Whoever makes a Client
// closes it.
type Client struct {
	*http.Client
	core *core
}

// core is what all copies of a Client share.
type core struct {
	name      string
	target    target
	options   Options
	plan      atomic.Pointer[capacity.Plan]
	gate      *gate.Gate
	budget    *budget.Budget
	telemetry *telemetry.Client
	tracer    *telemetry.Tracer
	flow      telemetry.Flow
	dialer    *dialer
	transport *http.Transport
	engine    http.RoundTripper // the transport, wrapped by the user
	timers    sync.Pool         // of *timer
}

// New returns a client for the upstream at target, as "https://host" or
// "http://host:port", with the sizes of plan. It does no I/O and starts no
// goroutine; call [Client.Warm] to fill its pool. It returns every mistake of
// its arguments at once.
func New(target string, plan capacity.Plan, options *Options) (*Client, error) {
	plan, planErr := plan.Resolve()
	o, optionsErr := options.resolve()
	to, targetErr := parseTarget(target, o.Hosts)
	if err := errors.Join(targetErr, planErr, optionsErr); err != nil {
		return nil, fmt.Errorf("httpclient: %w", err)
	}
	if o.Name == "" {
		o.Name = to.host
	}
	c := &core{
		name:    o.Name,
		target:  to,
		options: o,
		gate:    gate.New(limits(plan)),
		budget:  budget.New(plan.RetryShare),
		tracer:  telemetry.NewTracer(o.TracerProvider),
	}
	c.plan.Store(&plan)
	c.gate.Observe(o.Observe)
	address, port := to.hostPort()
	var err error
	c.telemetry, err = telemetry.NewClient(telemetry.ClientConfig{
		Upstream: o.Name, Address: address, Port: port,
		Registerer: o.Registerer, MeterProvider: o.MeterProvider, State: c.state,
	})
	if err != nil {
		return nil, fmt.Errorf("httpclient: Options.%w", err)
	}
	c.dialer = newDialer(c)
	c.transport = newTransport(c)
	c.engine = c.transport
	if o.Wrap != nil {
		c.engine = o.Wrap(c.transport)
	}
	return &Client{
		Client: &http.Client{Transport: c, Jar: o.Jar, CheckRedirect: c.checkRedirect},
		core:   c,
	}, nil
}

func limits(p capacity.Plan) gate.Limits {
	return gate.Limits{Places: p.InFlight, Queue: max(0, p.Queue), Wait: p.Wait}
}

// Resize gives the client another plan while it is in use. Calls in flight keep
// the times they began with; nobody who waits is turned away; connections above
// the new number close as they become idle. A plan with mistakes changes
// nothing.
func (c *Client) Resize(plan capacity.Plan) error {
	plan, err := plan.Resolve()
	if err != nil {
		return fmt.Errorf("httpclient: %s: %w", c.core.name, err)
	}
	fewer := plan.Connections < c.core.plan.Load().Connections
	c.core.plan.Store(&plan)
	c.core.budget.Resize(plan.RetryShare)
	c.core.dialer.resize(plan)
	c.core.gate.Resize(limits(plan))
	if fewer {
		c.core.transport.CloseIdleConnections()
	}
	return nil
}

// Observe switches the gate to observe mode or back: in it every decision is
// made and counted (offtake_client_refused_total, observed="true"), and none is
// applied.
func (c *Client) Observe(on bool) { c.core.gate.Observe(on) }

// Shutdown refuses new calls with offtake.ErrClosed and waits until those that
// run or wait are done, bodies included; then it closes the client. If ctx ends
// first, it returns context.Cause(ctx) and leaves the client draining: call
// Close to end the rest.
func (c *Client) Shutdown(ctx context.Context) error {
	if err := c.core.gate.Drain(ctx); err != nil {
		return fmt.Errorf("httpclient: %s: shutdown: %w", c.core.name, err)
	}
	return c.Close()
}

// Close refuses new calls and those that wait, closes idle connections, cancels
// dials, and takes the metrics off the registry. Calls in flight end by
// themselves, their connections with them. It always returns nil, and may be
// called again.
func (c *Client) Close() error {
	c.core.gate.Close()
	c.core.dialer.close()
	c.core.transport.CloseIdleConnections()
	c.core.telemetry.Close()
	return nil
}

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
		RetryBalance: c.budget.Balance(now),
		Active:       min(open, s.InFlight),
		Idle:         max(0, open-s.InFlight),
	}
}
