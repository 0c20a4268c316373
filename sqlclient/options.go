package sqlclient

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Options is how a client is wired. Sizes and times of calls are in the
// capacity.Plan. Name is required; every other zero field is a default that is safe.
type Options struct {
	// Name labels metrics, spans and errors: "orders-db". It is required, since a
	// driver.Connector does not say where it leads.
	Name string

	// Idle is how long an unused connection is kept. The default is 5 min. It must be
	// shorter than what closes idle connections on the way: PgBouncer's
	// client_idle_timeout, or a firewall.
	Idle time.Duration

	// MaxAge is how long a connection is used, give or take a tenth, so that those
	// opened together do not close together, and a database that was failed over to
	// gets its share. The default is 30 min.
	MaxAge time.Duration

	// Blameless says that an error is no failure of the database, in addition to
	// sql.ErrNoRows and sql.ErrTxDone: a broken constraint.
	Blameless func(error) bool

	// Observe starts the client in observe mode, in which nobody waits for a place or
	// is refused, and both are counted. The pool keeps its size.
	Observe bool

	// Registerer takes the metrics. The default is prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// TracerProvider defaults to the global one.
	TracerProvider trace.TracerProvider
}

const (
	defaultIdle   = 5 * time.Minute
	defaultMaxAge = 30 * time.Minute
)

// resolve fills in the defaults, or returns all mistakes at once.
func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	return r, errors.Join(duration("Idle", &r.Idle, defaultIdle), duration("MaxAge", &r.MaxAge, defaultMaxAge))
}

func duration(field string, d *time.Duration, byDefault time.Duration) error {
	if *d == 0 {
		*d = byDefault
	}
	if *d < 0 || *d > 24*time.Hour {
		return fmt.Errorf("Options.%s: %v is not in (0s, 24h]; %v would do, or 0 for it", field, *d, byDefault)
	}
	return nil
}
