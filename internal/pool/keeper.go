package pool

import (
	"context"
	"sync"
	"time"

	"github.com/offtake-go/offtake/internal/backoff"
)

// keeper keeps a pool warm, once it was. It has a timer and no goroutine; what it
// opens is there for whoever comes next.
type keeper struct {
	pool *Pool
	keep int // connections, once warm; the pool's mutex guards it

	mu        sync.Mutex
	stopped   bool
	timer     *time.Timer
	looking   bool
	again     bool
	looked    time.Time // last
	failures  int       // in a row
	notBefore time.Time // after a failure
}

// afterFailure is the pause after a warming that failed. It is longer than that
// between attempts of a call, which somebody waits for.
var afterFailure = backoff.Exponential{Base: 200 * time.Millisecond, Cap: 5 * time.Second}

// soon is the least time between two looks for what is missing.
const soon = 250 * time.Millisecond

// pause waits out the time that the last failure asks for.
func (k *keeper) pause(ctx context.Context) error {
	k.mu.Lock()
	stopped, left := k.stopped, time.Until(k.notBefore)
	k.mu.Unlock()
	if stopped {
		return ErrClosed
	}
	return backoff.Sleep(ctx, left)
}

// keepsLocked is how many connections to a host are to stand.
func (k *keeper) keepsLocked(h *host) int {
	if h.name == k.pool.options.Hosts[0] {
		return k.keep
	}
	return 0
}

// settle takes note of how a warming ended, and has the pool kept as it is now.
func (k *keeper) settle(err error, n int) {
	if err == nil {
		k.pool.mu.Lock()
		k.keep = n
		k.pool.tickLocked(time.Now())
		k.pool.mu.Unlock()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.failures++
		k.notBefore = time.Now().Add(afterFailure.Pause(k.failures))
		return
	}
	k.failures, k.notBefore = 0, time.Time{}
	if k.timer == nil && !k.stopped {
		k.timer = time.AfterFunc(time.Hour, k.look)
		k.timer.Stop()
	}
}

// lost has a look follow at once when a connection has closed, but not for each of
// many, and ever later if the upstream closes all it is given.
func (k *keeper) lost() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer == nil || k.stopped {
		return
	}
	if k.looking {
		k.again = true
		return
	}
	k.laterLocked()
}

func (k *keeper) laterLocked() {
	least := k.looked.Add(soon << min(k.failures, 6))
	k.timer.Reset(max(1, time.Until(least), time.Until(k.notBefore)))
}

// look opens what is missing. It runs on the timer's goroutine.
func (k *keeper) look() {
	p := k.pool
	p.mu.Lock()
	n := k.keep
	started := p.startLocked(func() { k.topUp(n) })
	p.mu.Unlock()
	if !started {
		k.halt()
	}
}

func (k *keeper) topUp(n int) {
	k.mu.Lock()
	if k.stopped || k.looking {
		k.mu.Unlock()
		return
	}
	k.looking, k.again, k.looked = true, false, time.Now()
	k.mu.Unlock()

	w := &warming{host: k.pool.hosts[k.pool.options.Hosts[0]], want: n}
	err := w.run(k.pool.life)
	k.settle(err, n)

	k.mu.Lock()
	defer k.mu.Unlock()
	k.looking = false
	if !k.stopped && (err != nil || k.again) {
		k.laterLocked()
	}
}

// halt ends the watch. A look under way goes on.
func (k *keeper) halt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.stopped = true
	if k.timer != nil {
		k.timer.Stop()
	}
}

// Rest ends keeping the pool warm: it is about to be closed.
func (p *Pool) Rest() { p.keeper.halt() }
