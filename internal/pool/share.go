package pool

import "time"

// unsettled is the limit on streams that net/http assumes until the upstream has
// stated its own.
const unsettled = 100

// settle is how long that takes at most, as a rule. Settings are the first thing
// that comes over a connection (RFC 9113, section 3.4), with the end of the
// handshake or right behind it, and a dial is two round trips or three.
func settle(dial time.Duration) time.Duration { return max(50*time.Millisecond, 4*dial) }

// known says whether the upstream's limit on streams is.
func (c *Conn) known(now time.Time) bool {
	return c.limit.Load() > 0 || c.cc.Available()+c.cc.InFlight() != unsettled || now.After(c.settled)
}

// take reserves a stream, if there is one for this client. Before the upstream
// has stated its limit there is one only: with as many reserved beyond the limit
// as it allows, net/http lets none of them through (golang.org/issue/70809).
//
// It also finds out about GOAWAY, which a ClientConn does not tell from streams
// that are all taken. While nobody else reserves one, fewer can only become in
// flight; so to be refused below the limit means that. But a stream that is reset
// is counted twice for an instant, and so it must happen more than once.
func (c *Conn) take(now time.Time) bool {
	c.pool.mu.Lock()
	most, gone := max(1, c.pool.sizes.Streams), c.removed
	c.pool.mu.Unlock()
	c.choice.Lock()
	defer c.choice.Unlock()
	if !c.known(now) {
		most = 1
	}
	if gone {
		c.leaving.Store(true)
		return false
	}
	for range 3 {
		n := c.cc.InFlight()
		if n >= most {
			return false
		}
		if c.cc.Reserve() == nil {
			return true
		}
		if int64(n) >= c.limit.Load() && c.cc.Err() == nil {
			return false
		}
	}
	c.leaving.Store(true)
	return false
}

// learn takes note of the limit, at a response. The numbers are not of one
// instant; but nobody reserves meanwhile, so that what comes out is the limit or
// less, and the most of all that was seen is the limit.
func (c *Conn) learn() {
	c.choice.Lock()
	defer c.choice.Unlock()
	n, room := c.cc.InFlight(), c.cc.Available()
	if limit := int64(room + min(n, c.cc.InFlight())); room > 0 && limit > c.limit.Load() {
		c.limit.Store(limit)
	}
}

// fit says whether new requests may go on a connection of HTTP/2. Whether it has
// room is for take to find out; but one that is full is not to be chosen before
// one that is not.
func (c *Conn) fit() bool {
	if c.removed || c.leaving.Load() || c.suspect || c.cc.Err() != nil {
		return false
	}
	n := c.cc.InFlight()
	limit := c.limit.Load()
	return n < max(1, c.pool.sizes.Streams) && (limit == 0 || int64(n) < limit)
}
