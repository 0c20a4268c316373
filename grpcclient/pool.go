package grpcclient

import (
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/connectivity"
)

// pool is all connections of a client.
type pool struct {
	core    *core
	base    time.Time
	health  bool // one stream of each connection watches its health
	tickets sync.Pool
	ready   atomic.Int32 // connections
	named   atomic.Bool  // there were addresses once

	mu      sync.Mutex
	fillers []*filler // made by grpc-go when it first connects: one, or what a policy above makes of it
	err     error     // of name resolution, or of a dial for a policy that is not ours
	changed chan struct{}
	timers  map[*time.Timer]struct{}
	closed  bool
}

func newPool(c *core) *pool {
	return &pool{core: c, base: time.Now(), timers: map[*time.Timer]struct{}{}}
}

// after runs f in its own time, unless the pool is closed first.
func (p *pool) after(d time.Duration, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		p.mu.Lock()
		delete(p.timers, t)
		closed := p.closed
		p.mu.Unlock()
		if !closed {
			f()
		}
	})
	p.timers[t] = struct{}{}
}

// close stops what would be done later, and tells those that wait. Whatever
// grpc-go says from now on, nothing is ready any more.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.fillers = nil
	p.ready.Store(0)
	p.noticeLocked()
	for t := range p.timers {
		t.Stop()
	}
	clear(p.timers)
}

// over says whether the pool is closed.
func (p *pool) over() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// fail notes the last error of a dial, or its success.
func (p *pool) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	p.noticeLocked()
}

// noticeLocked wakes those that wait for a change.
func (p *pool) noticeLocked() {
	if p.changed != nil {
		close(p.changed)
		p.changed = nil
	}
}

// linksLocked are those that calls may be sent on, once they are ready.
func (p *pool) linksLocked() iter.Seq[*link] {
	return func(yield func(*link) bool) {
		for _, f := range p.fillers {
			for l := range f.linksLocked() {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// countLocked has the gate follow what is ready.
func (p *pool) countLocked() {
	ready, streams := 0, int64(0)
	for l := range p.linksLocked() {
		if l.state == connectivity.Ready {
			ready++
			streams += l.most()
		}
	}
	p.ready.Store(int32(ready))
	p.core.fit(streams)
	p.noticeLocked()
}

// view is the pool at one instant.
type view struct {
	ready, failed, total int
	streams              int64         // that the ready ones may carry
	closed               bool          // for good
	err                  error         // of those that failed, joined
	changed              chan struct{} // closed when this is out of date
}

func (p *pool) view() view {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	v := view{changed: p.changed, closed: p.closed}
	errs := []error{p.err}
	for l := range p.linksLocked() {
		v.total++
		switch l.state {
		case connectivity.Ready:
			v.ready++
			v.streams += l.room()
		case connectivity.TransientFailure:
			v.failed++
			errs = append(errs, l.err)
		}
	}
	v.err = distinct(errs)
	return v
}

// oldest is the age of the oldest connection that is ready, 0 without any. A link
// has one connection at a time, that of its last dial.
func (p *pool) oldest(now time.Time) (age time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.linksLocked() {
		if l.state == connectivity.Ready {
			age = max(age, now.Sub(p.base)-time.Duration(l.dialed.Load()))
		}
	}
	return age
}

// cause is what is wrong with the connections, for a call that waits for one.
func (p *pool) cause() error {
	if v := p.view(); v.ready > 0 {
		return nil
	} else if v.err != nil {
		return v.err
	}
	return errConnecting
}

// distinct joins errors, and each text once: eight connections to a dead address
// have one thing to say.
func distinct(errs []error) error {
	seen := map[string]bool{}
	var some []error
	for _, err := range errs {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			some = append(some, err)
		}
	}
	if len(some) == 1 {
		return some[0]
	}
	return errors.Join(some...)
}

// fits says whether the plan's places have streams on so many connections.
func (v view) fits(places int) error {
	if v.streams >= int64(places) || v.ready == 0 {
		return nil
	}
	if v.streams == 0 {
		return fmt.Errorf("%d places do not fit on %d connections: the upstream allows no stream on them now", places, v.ready)
	}
	each := max(1, v.streams/int64(v.ready))
	return fmt.Errorf("%d places do not fit on %d connections: the upstream allows %d streams on them; %d connections would do",
		places, v.ready, v.streams, (int64(places)+each-1)/each)
}
