package grpcclient

import (
	"errors"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"

	"github.com/offtake-go/offtake/internal/backoff"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// link is one connection to one address, for good: what stands for it changes when
// it breaks or is sent away. It is the parent of a pick_first policy, which dials.
type link struct {
	balancer.ClientConn // grpc-go's; embedded so that this is one
	filler              *filler
	address             string

	streams atomic.Int64  // calls on it
	limit   atomic.Int64  // the server's, on them
	reads   atomic.Uint64 // how often something came
	timeout atomic.Uint64 // reads+1 when a call ran out of time on it
	suspect atomic.Bool   // nothing comes any more
	away    atomic.Bool   // the server has sent GOAWAY
	used    atomic.Bool   // something was answered on it
	back    atomic.Bool   // the next dial is to come back
	brief   atomic.Bool   // and the connection before it was soon gone
	dialed  atomic.Int64  // when, since the pool's start

	// Guarded by filler.topology.
	child  balancer.Balancer
	closed bool

	// Guarded by pool.mu.
	state    connectivity.State
	picker   balancer.Picker
	since    time.Time // in that state
	vain     int       // connections in a row that came to nothing
	resting  bool      // because of them, until a call needs it
	woken    int       // by calls that had nothing from it, in a row
	wakeable time.Time // before that no call wakes it
	err      error     // of the last dial; nil once it is ready
	fresh    bool      // err is of this dial
	replaces *link     // whose place it takes once it is ready
	heir     *link     // that is to take its place
	renewed  time.Time // when the last heir was sought
}

// vainLife is how long a connection without an answer must have been there to count
// as one: less than the 5 s for which some servers keep those that are idle, and
// long enough that a dial after each of them harms nobody.
const vainLife = 3 * time.Second

// unlimited is the limit of a server that states none.
const unlimited = math.MaxInt32

// UpdateState implements balancer.ClientConn for the child. The child calls it with
// its own lock held, so that nothing here may call the child.
func (l *link) UpdateState(s balancer.State) {
	f := l.filler
	f.pool.mu.Lock()
	var lived time.Duration
	if l.state == connectivity.Ready {
		lived = time.Since(l.since)
		l.brief.Store(lived < reconnectSpread)
	}
	l.state, l.picker, l.since, l.resting = s.ConnectivityState, s.Picker, time.Now(), false
	var (
		next  func()
		pause time.Duration
	)
	switch {
	case s.ConnectivityState == connectivity.Idle:
		lost := l.since
		next, pause = func() { l.connectSince(lost) }, l.lostLocked(lived)
	case s.ConnectivityState == connectivity.Ready && l.replaces != nil:
		next = func() { f.inherit(l) }
	case s.ConnectivityState == connectivity.TransientFailure && l.replaces != nil:
		next = func() { f.disown(l) }
	}
	switch s.ConnectivityState {
	case connectivity.Ready:
		l.err = nil
	case connectivity.TransientFailure:
		l.err = l.causeLocked(s.Picker)
		l.back.Store(true)
	case connectivity.Idle:
		// It is tempting to forget the limit at the next connection. But of several
		// addresses two are dialed at once, and the slower may be there just when the
		// faster is in use.
		l.limit.Store(unlimited)
		l.back.Store(true)
	}
	f.publishLocked()
	f.pool.mu.Unlock()
	if next != nil {
		f.pool.after(pause, next)
	}
}

// lostLocked is told of a connection that has ended, and returns the pause before
// the next. A call may cut it short, but by ever less: or a server that takes its leave
// after each greeting would be dialed as fast as calls fail.
// There is none after the first that came to nothing. From the second on
// the link rests, and as long as grpc-go does between dials that fail: its own
// pauses begin anew with each that succeeds.
func (l *link) lostLocked(lived time.Duration) time.Duration {
	if lived >= vainLife || l.used.Load() {
		l.vain, l.woken = 0, 0
		return 0
	}
	if l.vain++; l.vain == 1 {
		return 0
	}
	l.resting, l.wakeable = true, time.Now()
	if l.woken > 0 {
		l.wakeable = l.wakeable.Add(backoff.Exponential{Base: hastySpread, Cap: dialPauseMost}.Bound(l.woken))
	}
	l.state, l.err = connectivity.TransientFailure, &dialError{address: l.address, err: errVain}
	return backoff.Exponential{Base: reconnectSpread, Cap: 2 * dialPauseMost}.Pause(l.vain - 1)
}

// connectSince has it dial, unless a call has had it do so meanwhile: or each such call
// would leave a timer behind, and each timer another.
func (l *link) connectSince(lost time.Time) {
	l.filler.pool.mu.Lock()
	same := l.since.Equal(lost)
	l.filler.pool.mu.Unlock()
	if same {
		l.connect()
	}
}

// connect has an idle child dial again: pick_first waits for a call before it does.
func (l *link) connect() {
	l.filler.topology.Lock()
	defer l.filler.topology.Unlock()
	if !l.closed {
		l.child.ExitIdle()
	}
}

// causeLocked is why the link failed: what the dial said, with its type, or else
// the text that the child has for it.
func (l *link) causeLocked(p balancer.Picker) error {
	if l.fresh {
		return l.err
	}
	_, err := p.Pick(balancer.PickInfo{})
	return fmt.Errorf("%s: %w", l.address, err)
}

// began is told of a dial.
func (l *link) began() {
	l.dialed.Store(int64(time.Since(l.filler.pool.base)))
	l.filler.pool.mu.Lock()
	l.fresh = false
	l.filler.pool.mu.Unlock()
}

// failed is told of a dial or a handshake that failed.
func (l *link) failed(err *dialError) {
	l.filler.pool.core.telemetry.Dial(err.outcome(), l.sinceDial())
	l.filler.pool.core.telemetry.Failed(err.outcome(), time.Now(), err)
	l.filler.pool.mu.Lock()
	l.err, l.fresh = err, true
	l.filler.pool.mu.Unlock()
}

// connected is told of a connection. Its server's limit is not known yet, and will
// be before it is ready.
func (l *link) connected() {
	l.filler.pool.core.telemetry.Dial(telemetry.Status2xx, l.sinceDial())
	l.away.Store(false)
	l.used.Store(false)
	l.suspect.Store(false)
	l.timeout.Store(0)
}

func (l *link) sinceDial() time.Duration {
	return time.Since(l.filler.pool.base) - time.Duration(l.dialed.Load())
}

// learn is told of the server's limit: before the connection is ready, and whenever
// the server changes its mind, also if it has stated none at first.
func (l *link) learn(limit uint32) {
	now := int64(min(limit, unlimited))
	if l.limit.Swap(now) == now {
		return
	}
	l.filler.pool.mu.Lock()
	defer l.filler.pool.mu.Unlock()
	if l.state == connectivity.Ready {
		l.filler.publishLocked()
	}
}

// heard is told that something came.
func (l *link) heard() {
	l.reads.Add(1)
	if l.suspect.Load() {
		l.suspect.Store(false)
	}
}

// silent is told of a call that ran out of time on the link, and that nothing has
// come since the count was at reads. Twice in a row, and the link is suspected:
// calls go elsewhere if they can, and another is dialed in its place. Keepalive
// would notice too, but no sooner than a server allows to be pinged.
func (l *link) silent(reads uint64) {
	if l.reads.Load() != reads {
		return
	}
	if l.timeout.Swap(reads+1) == reads+1 {
		l.suspect.Store(true)
		l.filler.pool.after(0, func() { l.filler.renew(l) })
	}
}

// room is how many calls the link may carry at once. A server may allow none, for
// as long as it likes.
func (l *link) room() int64 {
	limit := l.limit.Load()
	if l.filler.pool.health && limit < unlimited {
		limit--
	}
	return max(0, limit)
}

// most is how many calls are sent on the link at once: one where there is room for
// none, so that such a server is asked, and seen to be what it is.
func (l *link) most() int64 { return max(1, l.room()) }

// full says that one more call would have to wait for a stream.
func (l *link) full() bool { return l.streams.Load() >= l.room() }

// take counts one more call, if the link has fewer than most.
func (l *link) take(most int64) bool {
	for {
		n := l.streams.Load()
		if n >= most {
			return false
		}
		if l.streams.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// outcome is the error as a label.
func (e *dialError) outcome() telemetry.Outcome {
	if e.tls {
		return telemetry.TLS
	}
	if _, ok := errors.AsType[*net.DNSError](e.err); ok {
		return telemetry.DNS
	}
	return telemetry.Connect
}
