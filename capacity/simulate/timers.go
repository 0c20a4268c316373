package simulate

// A kind says what happens when a timer fires.
type kind uint8

// The first kinds are timeouts: most of them are set and never fire, and each
// kind nearly always has one length.
const (
	callTimeout    kind = iota // Callers.Timeout or Deadline of a call ran out
	tryTimeout                 // a proxy's timeout ran out
	doorWait                   // Gate.Wait of the door ran out
	clientWait                 // Gate.Wait of the client ran out
	clientDeadline             // Client.Deadline ran out
	attemptTimeout             // Client.Attempt ran out
	timeouts       = iota
)

const (
	arrival       kind = timeouts + iota // the next call is due
	callRetry                            // the pause before a caller's retry is over
	tryRetry                             // the pause before a proxy's retry is over
	attemptRetry                         // the pause before a client's retry is over
	answered                             // the upstream answers
	sweep                                // Outlier.Interval of a proxy
	healthCheck                          // HealthCheck.Interval of a proxy
	healthTimeout                        // HealthCheck.Timeout of a proxy
	probe                                // Liveness.Period of a replica
	probeTimeout                         // Liveness.Timeout of a replica
	started                              // a process runs
	warmed                               // its pools are warm
	endpoints                            // proxies see replicas come or go
	reconcile                            // a rollout looks again
	stopped                              // PreStop is over
	killed                               // Grace is over
	scripted                             // an Event is due
	beginning                            // Settle is over
)

// A timer is due at a time, for the entity with this index. gen must still be the
// entity's when it fires: cancelling a timer means to let its entity move on,
// which costs less than to take it out of the heap.
type timer struct {
	at   int64 // nanoseconds since the start
	seq  uint64
	id   int32
	gen  uint32
	kind kind
}

// before orders timers by time, and those of one time in the order they were set,
// so that a run does not depend on how the heap happens to lie.
func (t *timer) before(u *timer) bool {
	return t.at < u.at || t.at == u.at && t.seq < u.seq
}

// timers holds what is due, earliest first: timeouts in one queue for each kind,
// the rest in a heap. Timeouts of one length are due in the order they were set,
// so a queue keeps their order for nothing; in the heap, where they outnumber
// everything else and live longest, they took two thirds of all time.
//
// The heap has four children a node: half as deep as a binary one, and the four
// share a cache line or two.
type timers struct {
	heap   []timer
	queues [timeouts]timerQueue
	seq    uint64
}

// A timerQueue is timers in the order they are due.
type timerQueue struct {
	timers []timer
	head   int
}

func (h *timers) add(at int64, k kind, id int32, gen uint32) {
	h.seq++
	t := timer{at: at, seq: h.seq, id: id, gen: gen, kind: k}
	if k < timeouts && h.queues[k].append(t) {
		return
	}
	h.heap = append(h.heap, t)
	i := len(h.heap) - 1
	for i > 0 {
		parent := (i - 1) / 4
		if !t.before(&h.heap[parent]) {
			break
		}
		h.heap[i] = h.heap[parent]
		i = parent
	}
	h.heap[i] = t
}

// append adds t, unless it is due before the last one.
func (q *timerQueue) append(t timer) bool {
	if len(q.timers) > q.head && t.at < q.timers[len(q.timers)-1].at {
		return false
	}
	if len(q.timers) == cap(q.timers) && q.head > len(q.timers)/2 {
		q.timers = q.timers[:copy(q.timers, q.timers[q.head:])]
		q.head = 0
	}
	q.timers = append(q.timers, t)
	return true
}

// size is how many are set.
func (h *timers) size() int {
	n := len(h.heap)
	for i := range h.queues {
		n += len(h.queues[i].timers) - h.queues[i].head
	}
	return n
}

// first returns the earliest timer without removing it, and the queue it is in,
// or len(h.queues) for the heap; nil if there is none.
func (h *timers) first() (*timer, int) {
	var least *timer
	from := len(h.queues)
	if len(h.heap) > 0 {
		least = &h.heap[0]
	}
	for i := range h.queues {
		q := &h.queues[i]
		if q.head < len(q.timers) && (least == nil || q.timers[q.head].before(least)) {
			least, from = &q.timers[q.head], i
		}
	}
	return least, from
}

// next removes and returns the earliest timer if it is due before end.
func (h *timers) next(end int64) (timer, bool) {
	least, from := h.first()
	if least == nil || least.at >= end {
		return timer{}, false
	}
	t := *least
	if from < len(h.queues) {
		h.queues[from].head++
		return t, true
	}
	last := h.heap[len(h.heap)-1]
	h.heap = h.heap[:len(h.heap)-1]
	if len(h.heap) > 0 {
		h.sink(last)
	}
	return t, true
}

// sink places t from the root downwards.
func (h *timers) sink(t timer) {
	i := 0
	for {
		first := 4*i + 1
		if first >= len(h.heap) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h.heap)); c++ {
			if h.heap[c].before(&h.heap[least]) {
				least = c
			}
		}
		if !h.heap[least].before(&t) {
			break
		}
		h.heap[i] = h.heap[least]
		i = least
	}
	h.heap[i] = t
}
