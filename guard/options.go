package guard

import (
	"context"
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Options is how a guard is wired. Nil lacks a Name, which is required; every
// other zero field is a default that is safe. Sizes and times are in the
// capacity.Plan.
type Options struct {
	// Name labels metrics, spans and errors. It is required, since nothing else says
	// what is called. Two guards or clients on one Registerer must not share a name.
	Name string

	// Warm, if set, is what Guard.Warm does: open the connections and prove them, and
	// return nil once they stand. The default has nothing to warm.
	Warm func(ctx context.Context) error

	// Connections, if set, reads how many connections are idle and in use, for the
	// metrics: from pgxpool.Pool.Stat, or redis.Client.PoolStats. It is called at each
	// scrape, from any goroutine, and must not block. The default shows none.
	Connections func() (idle, active int)

	// Blameless, if set, says that an error is no failure of the upstream: no rows, a
	// key that is not there, a broken constraint. It is not repeated then, nor counted
	// as a failure. The default blames the upstream for every error but those of the
	// caller's context and those that wrap offtake.ErrBusy or offtake.ErrClosed.
	Blameless func(error) bool

	// Observe starts the guard in observe mode: every decision of its limits is made
	// and counted, and none is applied; the times are. The default is off. See
	// Guard.Observe.
	Observe bool

	// Registerer takes the metrics. The default is prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// TracerProvider defaults to the global one.
	TracerProvider trace.TracerProvider
}

// resolve returns a copy, or what is wrong.
func (o *Options) resolve() (Options, error) {
	if o == nil || o.Name == "" {
		return Options{}, errors.New(`Options.Name: it is empty, and nothing else says what is called; "orders-cache" would do`)
	}
	return *o, nil
}

// CallOption says something about one call.
type CallOption uint8

// Idempotent says that doing the call twice is doing it once, so that it may be
// repeated after a failure: up to Plan.Attempts, within Plan.RetryShare, and never
// past Plan.Deadline.
const Idempotent CallOption = 1
