package gate

import "time"

// waiter is one caller in the queue. Its channel holds one token, sent by
// whoever takes it out of the queue to serve or refuse it.
type waiter struct {
	prev, next *waiter
	queued     bool
	refusal    *Refusal // written before the token is sent
	ready      chan struct{}
	timer      *time.Timer
}

func newWaiter() *waiter {
	return &waiter{ready: make(chan struct{}, 1)}
}

// start returns the channel that fires when the longest wait is over.
func (w *waiter) start(wait time.Duration) <-chan time.Time {
	if w.timer == nil {
		w.timer = time.NewTimer(wait)
	} else {
		w.timer.Reset(wait)
	}
	return w.timer.C
}

func (w *waiter) serve(refusal *Refusal) {
	w.refusal = refusal
	w.ready <- struct{}{}
}

// verdict is what w was served with, as an error that is nil for a place.
func (w *waiter) verdict() error {
	if w.refusal == nil {
		return nil
	}
	return w.refusal
}

// taken is the verdict of a waiter that left the queue without reading its token.
func (w *waiter) taken() error {
	<-w.ready
	return w.verdict()
}

// queue is a list of waiters, the first come at its head. It is intrusive, so
// that a waiter that gives up leaves at once and takes nothing with it.
type queue struct {
	head, tail *waiter
	len        int
}

func (q *queue) push(w *waiter) {
	w.prev, w.next, w.queued = q.tail, nil, true
	if q.tail == nil {
		q.head = w
	} else {
		q.tail.next = w
	}
	q.tail = w
	q.len++
}

func (q *queue) pop() *waiter {
	w := q.head
	q.remove(w)
	return w
}

func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.head = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.tail = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.prev, w.next, w.queued = nil, nil, false
	q.len--
}
