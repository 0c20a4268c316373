package httpclient

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/pool"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Client calls one upstream. It is a *http.Client, so that Client.Client can be
// handed to anything that takes one; its transport is where all bounds are, and
// they hold whatever is built on top. Leave its Timeout at 0: it would end what
// [Stream] and an upgrade are for, and cost two goroutines a call.
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
	resizing  sync.Mutex // while the plan, or what follows from it, changes
	plan      atomic.Pointer[capacity.Plan]
	gate      *gate.Gate
	budget    *budget.Budget
	telemetry *telemetry.Client
	tracer    *telemetry.Tracer
	flow      telemetry.Flow
	pool      *pool.Pool
	engine    http.RoundTripper // on the pool, wrapped by the user
	limits    limits
	timers    sync.Pool    // of *timer
	stuck     atomic.Int64 // see Stats.Stuck
	hasty     atomic.Bool  // nothing is to be expected of the upstream: see expect
}

// New returns a client for the upstream at target, as "https://host" or
// "http://host:port", with the sizes of plan. It does no I/O and starts no
// goroutine; call [Client.Warm] to fill its pool. It returns every mistake of
// its arguments at once.
func New(target string, plan capacity.Plan, options *Options) (*Client, error) {
	plan, planErr := plan.Resolve()
	o, optionsErr := options.resolve()
	to, targetErr := parseTarget(target, o.Hosts)
	if err := errors.Join(targetErr, planErr, optionsErr, o.check(plan, to.scheme)); err != nil {
		return nil, fmt.Errorf("httpclient: %w", err)
	}
	if o.Name == "" {
		o.Name = to.host
	}
	c := &core{
		name:    o.Name,
		target:  to,
		options: o,
		gate:    gate.New(gate.Limits{}),
		budget:  budget.New(plan.RetryShare),
		tracer:  telemetry.NewTracer(o.TracerProvider),
	}
	c.plan.Store(&plan)
	c.pool = newPool(c)
	c.engine = engine{c}
	if o.Wrap != nil {
		c.engine = o.Wrap(sent{c.engine})
	}
	c.gate.Resize(c.limitsOf(plan))
	c.observe(o.Observe)
	address, port := to.hostPort()
	var err error
	c.telemetry, err = telemetry.NewClient(telemetry.ClientConfig{
		Upstream: o.Name, Address: address, Port: port,
		Registerer: o.Registerer, MeterProvider: o.MeterProvider, State: c.state,
	})
	if err != nil {
		c.pool.Close()
		return nil, fmt.Errorf("httpclient: Options.%w", err)
	}
	return &Client{
		Client: &http.Client{Transport: c, Jar: o.Jar, CheckRedirect: c.checkRedirect},
		core:   c,
	}, nil
}
