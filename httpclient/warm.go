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
// they do. By default it dials and sends nothing; with Options.WarmPath it sends
// one request on each, and counts those that the pool then has. The first is
// opened alone: if the upstream is not there, it is asked once.
//
// Warm tries once. It may be called again, and then adds what is missing; after
// a failure it first pauses, longer each time, so that to call it in a loop does
// no harm. Its error is a [*WarmError].
//
// Once warm, the client stays so: from time to time it replaces what the
// upstream or Options.Idle has closed, unless traffic has done so.
func (c *Client) Warm(ctx context.Context) error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	want := core.plan.Load().Warm
	if err := core.warmer.pause(ctx); err != nil {
		return &WarmError{Upstream: core.name, Want: want, Got: core.dialer.open(), Err: err}
	}
	w := &warming{core: core, want: want}
	err = w.run(ctx)
	core.warmer.settle(err)
	if err != nil {
		return &WarmError{Upstream: core.name, Want: want, Got: w.got, Err: err}
	}
	return nil
}

// warming is one attempt to have so many connections.
type warming struct {
	core *core
	want int
	got  int

	mu   sync.Mutex
	errs []error
}

// errFewer is when nothing failed and yet some are missing.
var errFewer = errors.New("the upstream closed the others at once")

func (w *warming) run(ctx context.Context) error {
	way := w.core.wayToWarm()
	err := way(w, ctx)
	if errors.Is(err, errPlain) { // it is known now
		err = w.core.wayToWarm()(w, ctx)
	}
	if err == nil && w.got < w.want {
		err = errFewer
	}
	return err
}

// wayToWarm is how connections are made without a call that needs one.
func (c *core) wayToWarm() func(*warming, context.Context) error {
	switch {
	case c.streams != nil && !c.streams.plain.Load():
		return (*warming).share
	case c.options.WarmPath != "":
		return (*warming).request
	case c.options.Base != nil && c.options.Base.Proxy != nil:
		return (*warming).refuse
	}
	return (*warming).dial
}

// each does one first, and if that went well the others, in parallel but paced.
func (w *warming) each(ctx context.Context, n int, do func(context.Context) error) error {
	if n <= 0 {
		return nil
	}
	if err := do(ctx); err != nil {
		return err
	}
	return w.all(ctx, n-1, do)
}

func (w *warming) all(ctx context.Context, n int, do func(context.Context) error) error {
	var group sync.WaitGroup
	for range n {
		if err := w.core.dialer.pace.Wait(ctx); err != nil {
			w.failed(err)
			break
		}
		group.Go(func() {
			if err := do(ctx); err != nil {
				w.failed(err)
			}
		})
	}
	group.Wait()
	return errors.Join(w.errs...)
}

// failed takes note of an error, once of each: twenty connections that are
// refused have one reason.
func (w *warming) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, known := range w.errs {
		if known.Error() == err.Error() {
			return
		}
	}
	w.errs = append(w.errs, err)
}
