package pool

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// errFewer is when nothing failed and yet some are missing.
var errFewer = errors.New("the upstream closed the others at once")

// errCloses is when one has answered, and can't be used again.
var errCloses = errors.New("the upstream answers, and closes its connections (Connection: close, or no keep-alive)")

// Warm opens connections to the first host until n of them stand, and returns how
// many do. Each is asked for what Prove says. Without it nothing is sent, and what
// stands is what the upstream has not closed a moment later. The first is opened
// alone: if the upstream is not there, it is asked once.
//
// After a failure it first pauses, longer each time. Once warm, the pool stays so.
func (p *Pool) Warm(ctx context.Context, n int) (int, error) {
	h := p.hosts[p.options.Hosts[0]]
	err := p.keeper.pause(ctx)
	if err == nil {
		w := &warming{host: h, want: n}
		err = w.run(ctx)
		p.keeper.settle(err, n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return h.conns, err
}

// warming is one attempt to have so many connections.
type warming struct {
	host *host
	want int

	mu   sync.Mutex
	errs []error
}

func (w *warming) run(ctx context.Context) error {
	before := w.want + 1
	for range rounds { // some may close meanwhile that stood before
		missing := w.missing()
		if missing <= 0 || missing >= before {
			break
		}
		before = missing
		if err := w.one(ctx); err != nil {
			return err
		}
		if err := w.all(ctx, min(w.missing(), missing-1)); err != nil {
			return err
		}
		if w.host.pool.options.Prove == nil {
			if err := w.pause(ctx, grace); err != nil {
				return err
			}
		}
	}
	for {
		stand, dialing := w.stand()
		if stand >= w.want {
			return nil
		}
		if !dialing {
			return errFewer
		}
		if err := w.pause(ctx, leastTick); err != nil { // calls have others dialed
			return err
		}
	}
}

// rounds is how often a warming looks for what is missing. More would be another,
// after a pause.
const rounds = 2

// missing is how many connections are to be opened.
func (w *warming) missing() int {
	p := w.host.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	return min(w.want-w.host.conns-w.host.dialing, p.limitLocked()-len(p.conns)-p.dialing)
}

func (w *warming) stand() (n int, dialing bool) {
	w.host.pool.mu.Lock()
	defer w.host.pool.mu.Unlock()
	return w.host.conns, w.host.dialing > 0
}

// grace is how long what was dialed must stand to count as warm, if nothing is
// asked of it.
const grace = 100 * time.Millisecond

func (w *warming) pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// all opens the others, in parallel but paced.
func (w *warming) all(ctx context.Context, n int) error {
	var group sync.WaitGroup
	for range n {
		if err := w.host.pool.pace.Wait(ctx); err != nil {
			w.failed(err)
			break
		}
		group.Go(func() {
			if err := w.one(ctx); err != nil {
				w.failed(err)
			}
		})
	}
	group.Wait()
	return errors.Join(w.errs...)
}

// one opens one more connection, unless there are enough.
func (w *warming) one(ctx context.Context) error {
	h := w.host
	p := h.pool
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return ErrClosed
	}
	if len(p.conns)+p.dialing >= p.limitLocked() {
		p.mu.Unlock()
		return nil
	}
	h.dialing++
	p.dialing++
	p.mu.Unlock()
	c, err := h.make(ctx, false, false)
	if err != nil {
		return err
	}
	return p.prove(ctx, c)
}

// prove asks something of a new connection, and then has calls use it.
func (p *Pool) prove(ctx context.Context, c *Conn) error {
	if prove := p.options.Prove; prove != nil {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(p.life, cancel)()
		err := prove(ctx, proof{c})
		if err == nil && (c.cc.Err() != nil || c.cc.Available() == 0) {
			err = errCloses
		}
		if err != nil {
			p.drop(c)
			return err
		}
	}
	c.free()
	return nil
}

// proof sends a request on one connection.
type proof struct{ c *Conn }

// RoundTrip implements http.RoundTripper.
func (p proof) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := p.c.cc.Reserve(); err != nil {
		return nil, err
	}
	resp, err := p.c.cc.RoundTrip(req)
	if err == nil {
		p.c.proven.Store(true)
	}
	return resp, err
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
