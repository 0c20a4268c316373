package guard

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Guard bounds the calls to one upstream, whatever they are.
//
// Make one with [New], one for each upstream, and share it: all methods may be
// called from any goroutine. The zero Guard is not ready for use. Whoever makes a
// Guard closes it.
type Guard struct {
	options   Options
	plan      atomic.Pointer[capacity.Plan]
	gate      *gate.Gate
	budget    *budget.Budget
	telemetry *telemetry.Client
	tracer    *telemetry.Tracer
	flow      telemetry.Flow

	observing      atomic.Bool
	broke, forgave atomic.Uint64 // retries without a budget: not made, and made in observe mode
	overran        atomic.Uint64
	mu             sync.Mutex
	first          *Place // of those out, in no order
}

// New returns a guard with the sizes of plan. It does no I/O and starts no
// goroutine. It returns every mistake of its arguments at once.
func New(plan capacity.Plan, options *Options) (*Guard, error) {
	plan, planErr := plan.Resolve()
	o, optionsErr := options.resolve()
	if err := errors.Join(planErr, optionsErr); err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	g := &Guard{
		options: o,
		gate:    gate.New(limitsOf(plan)),
		budget:  budget.New(plan.RetryShare),
		tracer:  telemetry.NewTracer(o.TracerProvider),
	}
	g.plan.Store(&plan)
	g.Observe(o.Observe)
	var err error
	g.telemetry, err = telemetry.NewClient(telemetry.ClientConfig{
		Upstream: o.Name, Registerer: o.Registerer, State: g.state,
		MeterProvider: noop.NewMeterProvider(), // what it has of conventions is HTTP's
	})
	if err != nil {
		return nil, fmt.Errorf("guard: Options.%w", err)
	}
	return g, nil
}

// limitsOf is the part of a plan that the gate applies.
func limitsOf(p capacity.Plan) gate.Limits {
	return gate.Limits{Places: p.InFlight, Queue: max(0, p.Queue), Wait: p.Wait}
}
