package grpcclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Conn calls one upstream. It is a grpc.ClientConnInterface: generated stubs take
// it as they take a *grpc.ClientConn.
//
// Make one with [New], one for each upstream, and share it: all methods may be
// called from any goroutine. Whoever makes a Conn closes it.
type Conn struct{ core *core }

var _ grpc.ClientConnInterface = (*Conn)(nil)

// core is a Conn as its parts see it.
type core struct {
	name      string
	target    target
	options   Options
	balancing balancing
	methods   methodTable
	sizes     atomic.Pointer[sizes]
	gate      *gate.Gate
	streams   *gate.Gate // for streams alone, in front of gate
	refused   *refusals
	full      *refusals // of streams
	budget    *budget.Budget
	telemetry *telemetry.Client
	rpc       *telemetry.RPC
	tracer    *telemetry.Tracer
	flow      telemetry.Flow
	pool      *pool
	channels  []*channel

	observing atomic.Bool
	unpaid    atomic.Uint64 // retries not sent for want of budget
	lent      atomic.Uint64 // retries sent without, in observe mode

	fitting sync.Mutex
	room    int64 // streams on the connections that are ready; 0 if none is
}

// sizes are a plan, and what follows from it and the options.
type sizes struct {
	plan                    capacity.Plan
	streams                 int
	attempt, once, deadline bound
}

// defaultStreams is Plan.Streams for a plan that does not say: the least that an
// HTTP/2 server is advised to allow (RFC 9113, section 6.5.2). The plan's own
// default of 1 is for HTTP/1.1.
const defaultStreams = 100

func resolvePlan(p capacity.Plan, streams int) (*sizes, error) {
	if p.Streams == 0 {
		p.Streams = defaultStreams
	}
	p, err := p.Resolve()
	if err != nil {
		return nil, err
	}
	if streams == 0 {
		streams = max(1, p.InFlight/2)
	}
	return &sizes{
		plan:     p,
		streams:  min(streams, p.InFlight),
		attempt:  bound{PhaseAttempt, p.Attempt},
		once:     bound{PhaseAttempt, p.Once},
		deadline: bound{PhaseDeadline, p.Deadline},
	}, nil
}

// New returns a connection to the upstream at target, as grpc.NewClient names it:
// "dns:///orders:9000" or "orders:9000". It does no I/O; call [Conn.Warm] to
// connect. A plan without Streams has 100 on each connection. New returns every
// mistake of its arguments at once.
func New(target string, plan capacity.Plan, options *Options) (*Conn, error) {
	o, optionsErr := options.resolve()
	sizes, planErr := resolvePlan(plan, o.Streams)
	to, targetErr := parseTarget(target, o.Resolvers)
	if err := errors.Join(targetErr, planErr, optionsErr); err != nil {
		return nil, fmt.Errorf("grpcclient: %w", err)
	}
	if o.Name == "" {
		o.Name = to.name()
	}
	c := &core{
		name:      o.Name,
		target:    to,
		options:   o,
		balancing: newBalancing(o.ServiceConfig, !to.brings()),
		methods:   newMethodTable(o.Methods),
		gate:      gate.New(gate.Limits{}),
		streams:   gate.New(gate.Limits{}),
		budget:    budget.New(sizes.plan.RetryShare),
		tracer:    telemetry.NewTracer(o.TracerProvider),
	}
	c.refused, c.full = newRefusals(o.Name, c.gate), newRefusals(o.Name, c.streams)
	c.sizes.Store(sizes)
	c.fit(0)
	c.observe(o.Observe)
	c.pool = newPool(c)
	c.pool.health = c.balancing.health
	if err := c.openChannels(); err != nil {
		return nil, err
	}
	if err := c.openTelemetry(); err != nil {
		c.closeChannels()
		return nil, err
	}
	return &Conn{c}, nil
}

func (c *core) openTelemetry() error {
	config := telemetry.ClientConfig{
		Upstream: c.name, Address: c.target.host, Port: c.target.port,
		Registerer: c.options.Registerer, MeterProvider: noop.NewMeterProvider(), State: c.state,
	}
	var err error
	if c.telemetry, err = telemetry.NewClient(config); err != nil {
		return fmt.Errorf("grpcclient: Options.%w", err)
	}
	config.MeterProvider = c.options.MeterProvider
	if c.rpc, err = telemetry.NewRPC(config); err != nil {
		c.telemetry.Close()
		return fmt.Errorf("grpcclient: Options.%w", err)
	}
	return nil
}

// fit sets the limits of both gates: the plan's, but no more places than there are
// streams for them. With no connection ready the plan's hold: calls then wait for
// one, or hear that there is none, and it must not look like load.
func (c *core) fit(room int64) {
	c.fitting.Lock()
	defer c.fitting.Unlock()
	c.room = room
	c.fitLocked()
}

func (c *core) fitLocked() {
	s := c.sizes.Load()
	l := gate.Limits{Places: s.plan.InFlight, Queue: max(0, s.plan.Queue), Wait: s.plan.Wait}
	if c.room > 0 {
		l.Places = int(min(int64(l.Places), c.room))
	}
	if c.gate.Snapshot().Limits != l {
		c.gate.Resize(l)
	}
	l.Places = min(s.streams, l.Places)
	if c.streams.Snapshot().Limits != l {
		c.streams.Resize(l)
	}
}

// Resize gives the connection another plan while it is in use. Calls in flight keep
// the times they began with, and nobody who waits is turned away. Connections are
// added and taken away at once, except with a load-balancing policy that is not
// ours. A plan with mistakes changes nothing.
func (c *Conn) Resize(plan capacity.Plan) error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	sizes, err := resolvePlan(plan, core.options.Streams)
	if err != nil {
		return fmt.Errorf("grpcclient: %s: %w", core.name, err)
	}
	core.fitting.Lock()
	core.sizes.Store(sizes)
	core.budget.Resize(sizes.plan.RetryShare)
	core.fitLocked()
	core.fitting.Unlock()
	core.pool.resize()
	return nil
}

// Observe switches to observe mode or back: in it every decision of the gate and of
// the retry budget is made and counted (observed="true" in
// offtake_client_refused_total and offtake_client_limited_total), and none is
// applied. The limits on times stay.
func (c *Conn) Observe(on bool) {
	if core, err := c.alive(); err == nil {
		core.observe(on)
	}
}

func (c *core) observe(on bool) {
	c.observing.Store(on)
	c.gate.Observe(on)
	c.streams.Observe(on)
}

// Shutdown refuses new calls, and streams that wait, with offtake.ErrClosed and
// waits until the others are done; then it closes the connection. If ctx ends
// first, it returns context.Cause(ctx) and leaves the connection draining: call
// Close to end the rest.
func (c *Conn) Shutdown(ctx context.Context) error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	core.streams.Close()
	if err := core.gate.Drain(ctx); err != nil {
		return fmt.Errorf("grpcclient: %s: shutdown: %w", core.name, err)
	}
	return c.Close()
}

// Close refuses new calls and those that wait, ends those in flight with CANCELED,
// closes all connections, and takes the metrics off the registry. It always returns
// nil for a connection that New made, and may be called again.
func (c *Conn) Close() error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	core.streams.Close()
	core.gate.Close()
	core.pool.close()
	core.closeChannels()
	core.telemetry.Close()
	core.rpc.Close()
	return nil
}

// enter takes a place for a call, by a time.
func (c *core) enter(ctx context.Context, until time.Time) (time.Duration, error) {
	waited, err := c.gate.EnterBy(ctx, until)
	if err != nil {
		err = c.turnedAway(ctx, waited, err, c.refused)
	}
	return waited, err
}

// turnedAway records a wait in vain, and is what the caller hears of a gate's error.
// Who is refused at once has not waited.
func (c *core) turnedAway(ctx context.Context, waited time.Duration, err error, of *refusals) error {
	if waited > 0 {
		c.queued(ctx, waited)
	}
	refused, ok := errors.AsType[*gate.Refusal](err)
	if !ok {
		return c.contextError(ctx, StageQueue)
	}
	if refused.Reason == gate.Closed {
		return of.of(refused.Reason, waited)
	}
	if c.balancing.own && c.pool.ready.Load() == 0 {
		return &ConnectError{Upstream: c.name, Err: c.pool.cause()}
	}
	c.flow.Refused(time.Now())
	return of.of(refused.Reason, waited)
}
