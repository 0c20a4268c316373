package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Door is the bound on what a server has in flight. Make one with [New], and
// share it: all methods may be called from any goroutine. Several handlers
// behind one door share its places; give what must not starve a door of its own.
// Whoever makes a Door closes it.
type Door struct {
	name    string
	early   time.Duration
	gate    *gate.Gate
	flow    telemetry.Flow
	metrics *telemetry.Server

	deadline, idle atomic.Int64 // of the plan, for each request's pace
	observing      atomic.Bool

	mu   sync.Mutex
	plan capacity.Plan
	shut bool // until Open
}

// New returns a door with the sizes of plan: its InFlight, Queue and Wait. Its
// Deadline and BodyIdle bound what a client may keep a handler waiting: see
// [Door.Handler]. The other times of a plan are for clients. A door does not cut a
// handler off, since one that outlives its answer would go on without a place.
//
// New does no I/O and starts no goroutine, and returns every mistake of its
// arguments at once.
func New(plan capacity.Plan, options *Options) (*Door, error) {
	plan, planErr := plan.Resolve()
	o, errs := options.resolve()
	if err := errors.Join(append(errs, planErr)...); err != nil {
		return nil, fmt.Errorf("admission: %w", err)
	}
	d := &Door{name: o.Name, early: o.Early, plan: plan, shut: o.Early > 0}
	d.setTimesLocked()
	d.gate = gate.New(d.limitsLocked())
	d.Observe(o.Observe)
	var err error
	if d.metrics, err = telemetry.NewServer(o.Name, o.Registerer, d.state); err != nil {
		return nil, fmt.Errorf("admission: Options.%w", err)
	}
	return d, nil
}

func (d *Door) setTimesLocked() {
	d.deadline.Store(int64(d.plan.Deadline))
	d.idle.Store(int64(d.plan.BodyIdle))
}

// limitsLocked are the sizes of the moment. While the door is shut nobody has a
// place, and those who could have one on opening may wait beside the queue.
func (d *Door) limitsLocked() gate.Limits {
	l := gate.Limits{Places: d.plan.InFlight, Queue: max(0, d.plan.Queue), Wait: d.plan.Wait}
	if d.shut {
		l = gate.Limits{Queue: l.Places + l.Queue, Wait: d.early}
	}
	return l
}

// Open lets in those who came early, in turn, and whoever comes from now on. Call
// it when the service is ready. It does nothing to a door that is open.
func (d *Door) Open() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		d.shut = false
		d.gate.Resize(d.limitsLocked())
	}
}

// Resize gives the door another plan while it is in use. Nobody who is inside or
// waits is turned away. A plan with mistakes changes nothing.
func (d *Door) Resize(plan capacity.Plan) error {
	plan, err := plan.Resolve()
	if err != nil {
		return fmt.Errorf("admission: %s: %w", d.name, err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan = plan
	d.setTimesLocked()
	d.gate.Resize(d.limitsLocked())
	return nil
}

// Observe switches the door to observe mode or back: in it nobody waits or is
// refused, but that a draining or closed door lets nobody in. Those who would have
// found the queue full are counted (offtake_server_refused_total, observed="true");
// who would have waited too long can't be known, since nobody does.
func (d *Door) Observe(on bool) {
	d.observing.Store(on)
	d.gate.Observe(on)
}

// Shutdown refuses new requests with 503 and waits until those that run or wait
// are done; then it closes the door. If ctx ends first, it returns
// context.Cause(ctx) and leaves the door draining: call Close to end the rest.
//
// Shut down last: until the balancer has looked away from this replica, each
// request it still sends should be served.
func (d *Door) Shutdown(ctx context.Context) error {
	if err := d.gate.Drain(ctx); err != nil {
		return fmt.Errorf("admission: %s: shutdown: %w", d.name, err)
	}
	return d.Close()
}

// Close refuses new requests and those that wait, and takes the metrics off the
// registry. Those inside end by themselves. It always returns nil, and may be
// called again.
func (d *Door) Close() error {
	d.gate.Close()
	d.metrics.Close()
	return nil
}
