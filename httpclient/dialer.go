package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

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
	tls     *tls.Config     // for HTTP/1.1, without ServerName
	tls2    *tls.Config     // the same for HTTP/2, or what of both the upstream will
	life    context.Context // ends with Close
	end     context.CancelFunc
	slots   *gate.Gate // a place for each connection, open or being dialed
	turns   *gate.Gate // a place for each dial under way
	pace    *rate.Limiter
	next    atomic.Uint32
	stash   stash

	looking, shaking atomic.Int32 // dials that look a name up, or do TLS
	wanting          atomic.Int32 // dials that wait for a slot; see wants
	upgraded         atomic.Int64 // connections that speak something else now

	// retiring says that some connection is too old, and that requests with a body
	// should have a header of their own to say so in.
	retiring atomic.Bool

	mu      sync.Mutex
	conns   map[*conn]struct{} // open, upgraded ones included
	failed  time.Time          // when a dial last failed,
	failure error              // and how
	wants   map[string]int     // dials that wait for a slot, by address
}

// dialsAtOnce is how many dials are under way at the most: a crowd of handshakes
// is what a recovering upstream can least bear.
const dialsAtOnce = 8

// warmPace bounds the dials per second that no call is waiting for. A hundred
// warm the largest usual pool in a second or two, and cost the upstream less
// than a tenth of a core in handshakes of 1 ms.
const warmPace = 100

func newDialer(c *core) *dialer {
	d := &dialer{core: c, conns: make(map[*conn]struct{}), wants: make(map[string]int), pace: rate.NewLimiter(warmPace, dialsAtOnce)}
	d.tls, d.tls2 = tlsConfigs(c.options)
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
	waiting := p.InFlight + p.Connections // calls, and connections that are kept warm
	d.slots.Resize(gate.Limits{Places: p.Connections, Queue: waiting, Wait: longestConnect})
	d.turns.Resize(gate.Limits{Places: min(p.Connections, dialsAtOnce), Queue: waiting, Wait: longestConnect})
}

func (d *dialer) close() {
	d.end()
	d.slots.Close()
	d.turns.Close()
	d.stash.close()
}

// open is how many connections stand that calls can use.
func (d *dialer) open() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns) - int(d.upgraded.Load())
}

// oldest is the age of the oldest of them, 0 without any.
func (d *dialer) oldest(now time.Time) (age time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.conns {
		if !c.upgraded.Load() {
			age = max(age, now.Sub(c.born))
		}
	}
	return age
}

// stage says what the dials under way are at, for a call that waited for one in
// vain.
func (d *dialer) stage() telemetry.Outcome {
	switch {
	case d.looking.Load() > 0:
		return telemetry.DNS
	case d.shaking.Load() > 0:
		return telemetry.TLS
	}
	return telemetry.Connect
}

// dialPlain is the DialContext of the transport for HTTP/1.1.
func (d *dialer) dialPlain(ctx context.Context, network, address string) (net.Conn, error) {
	return d.take(ctx, network, address, nil)
}

// dialTLS is its DialTLSContext.
func (d *dialer) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	return d.take(ctx, network, address, d.tls)
}

// dialPlain2 and dialTLS2 are the same for HTTP/2. A proxy is asked for a tunnel
// in HTTP/1.1 whatever comes through it.
func (d *dialer) dialPlain2(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.dial(ctx, network, address, nil)
	return made(ctx, c, err)
}

func (d *dialer) dialTLS2(ctx context.Context, network, address string) (net.Conn, error) {
	config := d.tls2
	if !d.core.target.ownAddress(address) {
		config = d.tls
	}
	c, err := d.dial(ctx, network, address, config)
	return made(ctx, c, err)
}

// take returns a connection that was dialed beforehand, or dials one.
func (d *dialer) take(ctx context.Context, network, address string, secure *tls.Config) (net.Conn, error) {
	if c := d.stash.take(address); c != nil {
		return c, nil
	}
	return d.dial(ctx, network, address, secure)
}

// dial opens a connection, with TLS if secure is not nil. The transport's dials
// outlive the request that they were started for, so that they are bounded here,
// and end with the client.
func (d *dialer) dial(ctx context.Context, network, address string, secure *tls.Config) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, longestConnect)
	defer cancel()
	defer context.AfterFunc(d.life, cancel)()
	if ready, err := d.admit(ctx, address); ready != nil || err != nil {
		return ready, err
	}
	defer d.turns.Leave()
	began := time.Now()
	raw, err := d.connect(ctx, network, address)
	if err != nil {
		d.slots.Leave()
		return nil, d.fail(began, asDialError(telemetry.Connect, err))
	}
	c := d.adopt(raw, address) // its slot now goes back when it closes
	var result net.Conn = c
	if secure != nil {
		if result, err = d.handshake(ctx, c, secure); err != nil {
			c.Close()
			return nil, d.fail(began, &dialError{telemetry.TLS, err})
		}
	}
	d.core.telemetry.Dial(telemetry.Status2xx, time.Since(began))
	return result, nil
}

// admit waits for a slot and a turn to dial, or for a connection that somebody
// else has dialed. If meanwhile a dial has failed and there is no connection at
// all, it fails with it: the waiters would only find out one after the other what
// is known already.
func (d *dialer) admit(ctx context.Context, address string) (net.Conn, error) {
	arrived := time.Now()
	if !d.slots.TryEnter() {
		ready, err := d.awaitSlot(ctx, address)
		if err != nil {
			return nil, &dialError{telemetry.Connect, fmt.Errorf("dial %s: no connection is free, and none may be added: %w", address, err)}
		}
		if ready != nil {
			return ready, nil
		}
	}
	if _, err := d.turns.Enter(ctx); err != nil {
		d.slots.Leave()
		return nil, &dialError{telemetry.Connect, fmt.Errorf("dial %s: no turn to dial: %w", address, err)}
	}
	if err := d.failedSince(arrived); err != nil {
		d.turns.Leave()
		d.slots.Leave()
		return nil, err
	}
	return nil, nil
}

// adopt counts a new connection and gives it an age to reach: a tenth more or
// less than MaxAge, so that those opened together do not close together.
func (d *dialer) adopt(raw net.Conn, address string) *conn {
	now := time.Now()
	age := d.core.options.MaxAge
	c := &conn{Conn: raw, dialer: d, address: address, born: now, retire: now.Add(age - age/10 + rand.N(age/5+1))}
	d.mu.Lock()
	d.conns[c] = struct{}{}
	d.mu.Unlock()
	return c
}

// gone is called once for each connection that closes.
func (d *dialer) gone(c *conn) {
	d.mu.Lock()
	delete(d.conns, c)
	d.mu.Unlock()
	d.core.telemetry.ConnectionClosed(time.Since(c.born))
	d.core.warmer.lost()
}

func (d *dialer) fail(began time.Time, err *dialError) error {
	now := time.Now()
	d.mu.Lock()
	d.failed, d.failure = now, err
	d.mu.Unlock()
	d.core.telemetry.Dial(err.phase, now.Sub(began))
	d.core.telemetry.Failed(err.phase, now, err)
	return err
}

func (d *dialer) failedSince(t time.Time) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.conns) == 0 && d.failed.After(t) {
		return d.failure
	}
	return nil
}

func (d *dialer) handshake(ctx context.Context, c *conn, config *tls.Config) (net.Conn, error) {
	d.shaking.Add(1)
	defer d.shaking.Add(-1)
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(c.address)
	}
	t := tls.Client(c, config)
	err := t.HandshakeContext(ctx)
	if e, ok := errors.AsType[tls.RecordHeaderError](err); ok && string(e.RecordHeader[:]) == "HTTP/" {
		err = fmt.Errorf("%w: %w", http.ErrSchemeMismatch, err) // as net/http has it: the target is an http one
	}
	return t, err
}
