package httpclient

import (
	"context"
	"crypto/tls"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// dialer makes the connections of one client: never more than the plan has, few
// at a time, each within its bounds.
//
// It is tempting to leave the first to http.Transport.MaxConnsPerHost. But that
// can't be changed while the transport is in use, counts what it hands out for
// an upgrade no longer, and has a queue of its own which nobody sees.
type dialer struct {
	core    *core
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	lookup  func(ctx context.Context, network, host string) ([]netip.Addr, error)
	tls     *tls.Config
	life    context.Context // ends with Close
	end     context.CancelFunc
	slots   *gate.Gate // a place for each connection, open or being dialed
	turns   *gate.Gate // a place for each dial under way
	next    atomic.Uint32
	stash   stash

	// retiring says that some connection is too old, and that requests with a body
	// should have a header of their own to say so in.
	retiring atomic.Bool

	mu          sync.Mutex
	established int       // connections open
	failed      time.Time // when a dial last failed,
	failure     error     // and how
}

// dialsAtOnce is how many dials are under way at the most: a crowd of handshakes
// is what a recovering upstream can least bear.
const dialsAtOnce = 8

func newDialer(c *core) *dialer {
	d := &dialer{core: c, tls: tlsConfig(c.options)}
	d.life, d.end = context.WithCancel(context.Background())
	d.connect, d.lookup = d.connectTCP, net.DefaultResolver.LookupNetIP
	if base := c.options.Base; base != nil && base.DialContext != nil {
		d.connect = base.DialContext
		d.lookup = nil
	}
	d.slots = gate.New(gate.Limits{})
	d.turns = gate.New(gate.Limits{})
	d.resize(*c.plan.Load())
	return d
}

func (d *dialer) resize(p capacity.Plan) {
	d.slots.Resize(gate.Limits{Places: p.Connections, Queue: p.InFlight, Wait: longestConnect})
	d.turns.Resize(gate.Limits{Places: min(p.Connections, dialsAtOnce), Queue: p.InFlight, Wait: longestConnect})
}

func (d *dialer) close() {
	d.end()
	d.slots.Close()
	d.turns.Close()
	d.stash.close()
}

func (d *dialer) open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.established
}

// dialError is a connection that did not come about.
type dialError struct {
	phase telemetry.Outcome
	err   error
}

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

// dialPlain is the transport's DialContext.
func (d *dialer) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	return d.take(ctx, network, address, false)
}

// dialTLS is the transport's DialTLSContext.
func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	return d.take(ctx, network, address, true)
}

// take returns a connection that was dialed beforehand, or dials one.
func (d *dialer) take(ctx context.Context, network, address string, secure bool) (net.Conn, error) {
	if c := d.stash.take(address); c != nil {
		return c, nil
	}
	return d.dial(ctx, network, address, secure)
}

// dial opens a connection. The transport's dials outlive the request that they
// were started for, so that they are bounded here, and end with the client.
func (d *dialer) dial(ctx context.Context, network, address string, secure bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, longestConnect)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	if err := d.admit(ctx, address); err != nil {
		return nil, err
	}
	defer d.turns.Leave()
	began := time.Now()
	raw, err := d.connect(ctx, network, address)
	if err != nil {
		d.slots.Leave()
		return nil, d.fail(began, asDialError(telemetry.Connect, err))
	}
	c := d.adopt(raw) // its slot now goes back when it closes
	var result net.Conn = c
	if secure {
		if result, err = d.handshake(ctx, c, address); err != nil {
			c.Close()
			return nil, d.fail(began, &dialError{telemetry.TLS, err})
		}
	}
	d.core.telemetry.Dial(telemetry.Status2xx, time.Since(began))
	return result, nil
}

// admit waits for a slot and a turn to dial. If meanwhile a dial has failed and
// there is no connection at all, it fails with it: the waiters would only find
// out one after the other what is known already.
func (d *dialer) admit(ctx context.Context, address string) error {
	arrived := time.Now()
	if _, err := d.slots.Enter(ctx); err != nil {
		return &dialError{telemetry.Connect, fmt.Errorf("dial %s: no connection is free, and none may be added: %w", address, err)}
	}
	if _, err := d.turns.Enter(ctx); err != nil {
		d.slots.Leave()
		return &dialError{telemetry.Connect, fmt.Errorf("dial %s: no turn to dial: %w", address, err)}
	}
	if err := d.failedSince(arrived); err != nil {
		d.turns.Leave()
		d.slots.Leave()
		return err
	}
	return nil
}

// adopt counts a new connection and gives it an age to reach: a tenth more or
// less than MaxAge, so that those opened together do not close together.
func (d *dialer) adopt(raw net.Conn) *conn {
	d.mu.Lock()
	d.established++
	d.mu.Unlock()
	now := time.Now()
	age := d.core.options.MaxAge
	return &conn{Conn: raw, dialer: d, born: now, retire: now.Add(age - age/10 + rand.N(age/5+1))}
}

// gone is called once for each connection that closes.
func (d *dialer) gone(c *conn) {
	d.mu.Lock()
	d.established--
	d.mu.Unlock()
	d.slots.Leave()
	d.core.telemetry.ConnectionClosed(time.Since(c.born))
}

func (d *dialer) fail(began time.Time, err *dialError) error {
	now := time.Now()
	d.mu.Lock()
	d.failed, d.failure = now, err
	d.mu.Unlock()
	d.core.telemetry.Dial(err.phase, now.Sub(began))
	return err
}

func (d *dialer) failedSince(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.established == 0 && d.failed.After(t) {
		return d.failure
	}
	return nil
}

func (d *dialer) handshake(ctx context.Context, c *conn, address string) (net.Conn, error) {
	config := d.tls
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(address)
	}
	t := tls.Client(c, config)
	return t, t.HandshakeContext(ctx)
}
