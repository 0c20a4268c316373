package pool

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/offtake-go/offtake/internal/endpoint"
)

// Lease is room for one exchange on a connection, and then the exchange. The zero
// value is ready for [Pool.Acquire]. It is used by one goroutine at a time.
type Lease struct {
	conn     *Conn
	call     endpoint.Call
	wrote    int64 // bytes on the connection before
	read     int64
	idle     time.Time // it was unused since; zero for a connection that is new
	reused   bool
	answered bool
	done     bool
}

func (l *Lease) beginLocked(c *Conn, now time.Time) {
	patient := l.call.Patient
	*l = Lease{conn: c, reused: c.proven.Load(), idle: c.since, wrote: c.wire.wrote.Load(), read: c.wire.read.Load()}
	l.call.Patient = patient
	c.leases++
	l.call.Begin(c.point.endpoint, now)
}

// Patient says that an answer may take its time.
func (l *Lease) Patient() { l.call.Patient = true }

// Conn is the connection.
func (l *Lease) Conn() *Conn { return l.conn }

// Reused says whether the connection has answered before.
func (l *Lease) Reused() bool { return l.reused }

// NetConn is the connection below TLS.
func (c *Conn) NetConn() net.Conn { return c.wire }

// HTTP2 says what the connection speaks.
func (c *Conn) HTTP2() bool { return c.shared }

// Err is why the connection ended; nil while it stands.
func (c *Conn) Err() error { return c.cc.Err() }

// Release gives the room back unused.
func (l *Lease) Release() {
	if l.conn.shared {
		l.conn.cc.Release()
	} else {
		l.conn.sent()
	}
	l.Done(time.Now())
}

// RoundTrip is the exchange. A request without a body, the first on its connection,
// may go on when its caller has gone.
func (l *Lease) RoundTrip(req *http.Request) (*http.Response, error) {
	c := l.conn
	var resp *http.Response
	var err error
	switch {
	case c.shared:
		resp, err = c.cc.RoundTrip(req)
	case !c.proven.Load() && (req.Body == nil || req.Body == http.NoBody):
		resp, err = c.first(req)
	default:
		resp, err = c.exchange(req)
	}
	if err != nil {
		return nil, err
	}
	c.proven.Store(true)
	if c.shared {
		c.learn()
	} else if hint := resp.Header["Keep-Alive"]; len(hint) > 0 {
		c.hint(hint[0])
	}
	return resp, nil
}

// hint takes the server's word on how long it keeps an unused connection: as a
// client one is to be a little faster.
func (c *Conn) hint(header string) {
	for part := range strings.SplitSeq(header, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !strings.EqualFold(name, "timeout") {
			continue
		}
		n, err := strconv.Atoi(strings.Trim(value, `"`))
		if err != nil || n < 0 || n > 86400 {
			return
		}
		keep := time.Duration(n) * time.Second
		keep -= min(time.Second, keep/4)
		c.pool.mu.Lock()
		keep = min(keep, c.pool.options.Idle)
		c.keep, c.host.keep = keep, keep
		c.pool.mu.Unlock()
	}
}

// Unsent says that not one byte of the request has left: that is only known for
// HTTP/1.1.
func (l *Lease) Unsent() bool { return !l.conn.shared && l.conn.wire.wrote.Load() == l.wrote }

// goodbye is the longest alert of TLS with which a peer closes, in the AEAD suites:
// 5 bytes of header, 8 of nonce, 2 of alert and 16 of tag (RFC 5288, section 3). With
// the shortest status line a record has 34.
const goodbye = 31

// Unheard says that not one byte of an answer came over the connection since the
// exchange began. Bytes are counted below TLS, where a peer that closes in good order
// says so.
func (l *Lease) Unheard() bool {
	n := l.conn.wire.read.Load() - l.read
	return n == 0 || l.conn.pool.options.Scheme == "https" && n <= goodbye
}

// Answer says how the exchange went, at the headers of its response or at its
// failure. It counts once.
func (l *Lease) Answer(now time.Time, r endpoint.Result, err error) {
	c := l.conn
	if c == nil || l.answered {
		return
	}
	l.answered = true
	p := c.pool
	p.mu.Lock()
	l.call.Answer(now, r, err)
	var over bool
	switch r {
	case endpoint.Success:
		c.streak, c.suspect = 0, false
	case endpoint.Failure:
		c.streak++
		over = c.hopelessLocked(now)
	}
	p.unlock()
	if over {
		p.retire(c, true)
	}
}

// Done ends the exchange, as far as the load of its endpoint goes.
func (l *Lease) Done(now time.Time) {
	if l.conn == nil {
		return
	}
	c := l.conn
	c.pool.mu.Lock()
	l.call.Done(now)
	if !l.done {
		l.done = true
		c.leases--
		c.since = now
	}
	unused := c.shared && c.unusedLocked()
	c.pool.unlock()
	if unused {
		c.changed() // somebody elsewhere may wait for its slot
	}
}

// hopelessLocked says whether the connection is to be given up for its failures, so
// that a balancer behind its address chooses again. If all fail alike, or if there
// are endpoints to choose from, it is no use.
func (c *Conn) hopelessLocked(now time.Time) bool {
	h := c.host
	if c.streak < 3 || c.removed || len(h.points) > 1 || h.conns < 2 || now.Sub(h.recycled) < time.Second || c.pool.observing {
		return false
	}
	well := 0
	for _, other := range c.point.conns {
		if other.streak == 0 && other.proven.Load() {
			well++
		}
	}
	if well*2 < h.conns {
		return false
	}
	h.recycled = now
	return true
}

// Silent takes note of an exchange that ran out of time, if not one byte came over
// its connection since. Over HTTP/2 nobody else may have the connection then: the
// pings find out for sure whether its peer is gone, but after longer than most
// calls may last. Over HTTP/1.1, if it was reused, those that were unused for as
// long are suspect with it.
func (l *Lease) Silent(since time.Time) {
	c := l.conn
	if c == nil {
		return
	}
	if c.shared {
		if c.wire.heardAt().Before(since) {
			c.pool.retire(c, true)
		}
		return
	}
	if !l.reused || !l.Unheard() {
		return
	}
	p := c.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, other := range c.point.idle {
		if !other.since.After(l.call.Began()) {
			other.suspect = true
		}
	}
}

// Upgraded gives the connection to its user, who speaks something else on it for
// as long as they like: it no longer counts against the sizes.
func (l *Lease) Upgraded() {
	if l.conn != nil {
		l.conn.giveAway()
	}
}

func (c *Conn) giveAway() {
	p := c.pool
	c.wire.upgrade()
	p.mu.Lock()
	p.removeLocked(c, true)
	p.unlock()
}

// drainBytes is how much of an answer is read that nobody wants, so that its
// connection can be used again.
const drainBytes = 64 << 10

func (c *Conn) finish(resp *http.Response) {
	c.proven.Store(true)
	_, _ = io.CopyN(io.Discard, resp.Body, drainBytes)
	resp.Body.Close()
}
