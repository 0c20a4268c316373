package httpclient

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// shared is one connection of HTTP/2.
type shared struct {
	*http.ClientConn
	raw     *conn
	host    *host
	settled time.Time // when the upstream's settings are taken to be there
	used    atomic.Bool
	leaving atomic.Bool // the upstream has sent GOAWAY
	retired atomic.Bool
	limit   atomic.Int64 // on concurrent streams, as a response has proved it; 0 before

	taking sync.Mutex
}

// unsettled is the limit on streams that net/http assumes until the upstream has
// stated its own.
const unsettled = 100

// settle is how long that takes at most, as a rule. Settings are the first thing
// that comes over a connection (RFC 9113, section 3.4), with the end of the
// handshake or right behind it, and a dial is two round trips or three.
func settle(dial time.Duration) time.Duration { return max(50*time.Millisecond, 4*dial) }

// known says whether the upstream's limit on streams is.
func (c *shared) known() bool {
	return c.limit.Load() > 0 || c.Available()+c.InFlight() != unsettled || time.Now().After(c.settled)
}

// take reserves a stream, if there is one for this client. Before the upstream
// has stated its limit there is one only: with as many reserved beyond the limit
// as it allows, net/http lets none of them through (golang.org/issue/70809).
//
// It also finds out about GOAWAY, which a ClientConn does not tell from streams
// that are all taken. While nobody else reserves one, fewer can only become in
// flight; so to be refused below the limit means that. But a stream that is reset
// is counted twice for an instant, and so it must happen more than once.
func (c *shared) take(most int) bool {
	c.taking.Lock()
	defer c.taking.Unlock()
	if !c.known() {
		most = 1
	}
	for range 3 {
		n := c.InFlight()
		if n >= most || c.retired.Load() {
			return false
		}
		if c.Reserve() == nil {
			c.used.Store(true)
			return true
		}
		if int64(n) >= c.limit.Load() {
			return false
		}
	}
	c.leaving.Store(true)
	return false
}

// learn takes note of the limit, at a response. The numbers are not of one
// instant; but nobody reserves meanwhile, so that what comes out is the limit or
// less, and the most of all that was seen is the limit.
func (c *shared) learn() {
	c.taking.Lock()
	defer c.taking.Unlock()
	n, room := c.InFlight(), c.Available()
	if limit := int64(room + min(n, c.InFlight())); room > 0 && limit > c.limit.Load() {
		c.limit.Store(limit)
	}
}

// fit says whether new requests may go on the connection. However old, it is good
// for one, or a client whose connections age faster than they open would never
// send any.
func (c *shared) fit(now time.Time) bool {
	old := c.used.Load() && c.raw.old(now)
	return c.Err() == nil && !old && !c.raw.suspected.Load() && !c.leaving.Load()
}

// retire keeps new requests off the connection, makes room for its successor,
// and closes it after its last stream.
func (c *shared) retire() {
	c.taking.Lock()
	defer c.taking.Unlock()
	c.retireLocked()
}

func (c *shared) retireLocked() {
	c.retired.Store(true)
	c.host.remove(c)
	c.raw.leaveSlot()
	if c.InFlight() == 0 {
		c.Close()
	}
}

// changed is called by the connection when a stream ends or the connection does.
// It may run inside of any method of the connection, and so with the lock held.
func (c *shared) changed() {
	switch {
	case c.Err() != nil:
		c.host.remove(c)
	case c.InFlight() > 0:
	case c.retired.Load():
		c.Close()
	case c.raw.dialer.wantedElsewhere(c.raw.address) && c.taking.TryLock(): // and nobody here needs it
		c.retireLocked()
		c.taking.Unlock()
	}
	c.host.wake()
}
