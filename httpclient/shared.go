package httpclient

import (
	"errors"
	"net/http"
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
	retired atomic.Bool
	limit   atomic.Int64 // on concurrent streams, as a response has proved it; 0 before
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
func (c *shared) take(most int) bool {
	if !c.known() {
		most = 1
	}
	if c.InFlight() >= most || c.Reserve() != nil {
		return false
	}
	c.used.Store(true)
	return true
}

// learn takes note of the limit, at a response.
func (c *shared) learn() {
	if room := c.Available(); room > 0 {
		c.limit.Store(int64(room + c.InFlight()))
	}
}

// fit says whether new requests may go on the connection. However old, it is good
// for one, or a client whose connections age faster than they open would never
// send any.
func (c *shared) fit(now time.Time) bool {
	return c.Err() == nil && !(c.used.Load() && c.raw.old(now)) && !c.raw.suspected.Load() && !c.leaving()
}

// leaving says whether the upstream has sent GOAWAY. ClientConn does not tell
// that from a connection whose streams are all taken; but then as many must be
// in flight as it has. The two numbers are not read at one instant, so that a
// single look may be wrong, and costs a connection that had done nothing bad.
func (c *shared) leaving() bool {
	for range 3 {
		if c.Available() > 0 || int64(c.InFlight()) >= c.limit.Load() {
			return false
		}
	}
	return true
}

// retire keeps new requests off the connection, makes room for its successor,
// and closes it after its last stream.
func (c *shared) retire() {
	c.retired.Store(true)
	c.host.remove(c)
	c.raw.leaveSlot()
	if c.InFlight() == 0 {
		c.Close()
	}
}

// changed is called by the connection when a stream ends or the connection does.
// It may run inside of any method of the connection, and so with no lock of ours
// held.
func (c *shared) changed() {
	switch {
	case c.Err() != nil:
		c.host.remove(c)
	case c.InFlight() > 0:
	case c.retired.Load():
		c.Close()
	case c.host.streams.core.dialer.wanting.Load() > 0: // another host needs the slot
		c.retire()
	}
	c.host.wake()
}

// explain makes an error of the connection one that says so: most of those of
// net/http have no type.
func (c *shared) explain(err error) error {
	if c.Err() != nil {
		return &brokenError{err}
	}
	return err
}

// brokenError is a connection that ended under its requests.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// streamError has the fields of the type of that name which net/http keeps to
// itself. Its As method fills in any type that has them.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error makes streamError one that errors.As can look for.
func (e streamError) Error() string { return "stream error" }

const refusedStream = 7 // REFUSED_STREAM: RFC 9113, section 7

// unprocessed says that the upstream has not begun to work on the request: it
// refused the stream, or went away and named a stream before this one as the
// last. For the latter net/http has no type, and the texts are all there is;
// a test provokes them.
func unprocessed(err error) bool {
	if e, ok := errors.AsType[streamError](err); ok {
		return e.Code == refusedStream
	}
	if broken, ok := errors.AsType[*brokenError](err); ok {
		err = broken.err
	}
	switch err.Error() {
	case "http2: Transport received Server's graceful shutdown GOAWAY", "http2: client conn not usable":
		return true
	}
	return false
}
