package guard

import (
	"context"
	"sync"
	"time"
)

// bounds is the context of one attempt: the caller's, until a time. It lies inside
// its call, and makes a channel and a timer only for a function that asks for
// Done. context.WithDeadline would make all of that for each call, in five
// allocations.
type bounds struct {
	parent context.Context
	until  time.Time

	mu    sync.Mutex
	err   error
	done  chan struct{}
	timer *time.Timer
	stop  func() bool // following the parent
}

// Deadline implements context.Context.
func (b *bounds) Deadline() (time.Time, bool) {
	if d, ok := b.parent.Deadline(); ok && d.Before(b.until) {
		return d, true
	}
	return b.until, true
}

// Value implements context.Context.
func (b *bounds) Value(key any) any { return b.parent.Value(key) }

// Err implements context.Context.
func (b *bounds) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lookLocked()
}

// Done implements context.Context.
func (b *bounds) Done() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done != nil {
		return b.done
	}
	b.done = make(chan struct{})
	if b.lookLocked() != nil {
		close(b.done)
		return b.done
	}
	look := func() { _ = b.Err() } // it closes done
	b.timer = time.AfterFunc(time.Until(b.until), look)
	if b.parent.Done() != nil {
		b.stop = context.AfterFunc(b.parent, look)
	}
	return b.done
}

// lookLocked ends the context if the time has come, or the parent has.
func (b *bounds) lookLocked() error {
	if b.err != nil {
		return b.err
	}
	if err := b.parent.Err(); err != nil {
		b.endLocked(err)
	} else if !time.Now().Before(b.until) {
		b.endLocked(context.DeadlineExceeded)
	}
	return b.err
}

func (b *bounds) endLocked(err error) {
	b.err = err
	if b.timer == nil {
		return
	}
	b.timer.Stop()
	if b.stop != nil {
		b.stop()
	}
	close(b.done)
}

// end ends the context with its attempt, and returns what had ended it before.
func (b *bounds) end() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.err
	if before == nil {
		b.endLocked(context.Canceled)
	}
	return before
}
