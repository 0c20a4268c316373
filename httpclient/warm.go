package httpclient

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// WarmError says how far warming came, and why not further.
type WarmError struct {
	Upstream  string
	Want, Got int   // connections
	Err       error // what went wrong, joined
}

// Error names the counts and the causes.
func (e *WarmError) Error() string {
	return fmt.Sprintf("httpclient: %s: %d of %d connections are warm: %v", e.Upstream, e.Got, e.Want, e.Err)
}

// Unwrap returns the causes.
func (e *WarmError) Unwrap() error { return e.Err }

// Warm opens connections until Plan.Warm of them stand, and returns nil only if
// they do. The first is opened alone: it fetches the TLS session that the others
// resume, and if the upstream is not there, it is asked once. Warm may be called
// again; it then adds what is missing. Its error is a [*WarmError].
func (c *Client) Warm(ctx context.Context) error {
	w := &warming{core: c.core, want: c.core.plan.Load().Warm}
	if err := w.run(ctx); err != nil {
		return &WarmError{Upstream: c.core.name, Want: w.want, Got: w.got(), Err: err}
	}
	return nil
}

type warming struct {
	core *core
	want int

	mu   sync.Mutex
	errs []error
}

func (w *warming) got() int { return w.core.dialer.open() }

func (w *warming) run(ctx context.Context) error {
	w.core.dialer.stash.len() // drops the dead
	if w.got() >= w.want {
		return nil
	}
	w.dial(ctx)
	if len(w.errs) == 0 {
		var group sync.WaitGroup
		for range w.want - w.got() {
			group.Go(func() { w.dial(ctx) })
		}
		group.Wait()
	}
	w.core.dialer.stash.len()
	if w.got() >= w.want {
		return nil
	}
	if len(w.errs) == 0 {
		w.errs = append(w.errs, errors.New("the upstream closed the others at once"))
	}
	return errors.Join(w.errs...)
}

// dial opens one connection and keeps it for the transport.
func (w *warming) dial(ctx context.Context) {
	d := w.core.dialer
	address := w.core.target.dialAddress()
	c, err := d.dial(ctx, "tcp", address, w.core.target.scheme == "https")
	if err == nil {
		d.stash.put(address, c, w.core.options.Idle)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}
