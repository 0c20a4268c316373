package pool

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/offtake-go/offtake/internal/endpoint"
)

// ErrClosed is what a closed pool answers.
var ErrClosed = errors.New("pool: closed")

// Sizes are how much there may be.
type Sizes struct {
	Connections int           // open or being dialed
	Streams     int           // requests that share one connection of HTTP/2
	Attempt     time.Duration // an exchange that its caller gave up may take so long in all
}

// Options are how a pool is wired. All fields but the optional ones are needed.
type Options struct {
	Scheme    string                                                               // "http" or "https"
	Hosts     []string                                                             // that may be asked for
	Address   func(host string) string                                             // of a host, with a port
	Protocols http.Protocols                                                       // that may be spoken
	Maker     func(*http.Protocols) *http.Transport                                // a transport without dials; it sends nothing itself
	TLS       *tls.Config                                                          // for https, without NextProtos
	Dial      func(ctx context.Context, network, address string) (net.Conn, error) // optional: in place of the pool's own
	Resolve   Resolver                                                             // optional: in place of the system's

	Connect time.Duration // bounds a dial to one address
	Longest time.Duration // bounds everything up to a usable connection
	Idle    time.Duration // an unused connection is kept so long
	MaxAge  time.Duration // a connection is replaced after this, give or take a tenth

	// Prove, if set, asks something of a connection that no call is waiting for,
	// before it counts as warm.
	Prove  func(ctx context.Context, on http.RoundTripper) error
	Events Events
}

// Events is what a pool tells its owner. The methods are called without a lock of
// the pool held, from any goroutine, and must not block.
type Events interface {
	Dialed(took time.Duration, err *DialError) // a connection, or none
	Closed(age time.Duration)                  // one that stood
	TurnedDown()                               // the upstream speaks HTTP/1.1 alone: a connection is one request
	Judged(endpoint.Change)                    // an endpoint was left out, or is back
}

// dialsAtOnce is how many dials are under way at the most: a crowd of handshakes
// is what a recovering upstream can least bear.
const dialsAtOnce = 8

// warmPace bounds the dials per second that no call is waiting for. A hundred
// warm the largest usual pool in a second or two, and cost the upstream less
// than a tenth of a core in handshakes of 1 ms.
const warmPace = 100

// Pool is the connections to one upstream. Make one with [New], and close it.
type Pool struct {
	options Options
	maker1  *http.Transport // for HTTP/1.1
	maker2  *http.Transport // for HTTP/2, or what of both the upstream will; nil if it is not wanted
	tls1    *tls.Config
	tls2    *tls.Config
	hosts   map[string]*host
	life    context.Context // ends with Close
	end     context.CancelFunc
	pace    *rate.Limiter
	work    sync.WaitGroup // dials, and exchanges that were given up
	keeper  keeper

	plain            atomic.Bool // the upstream speaks HTTP/1.1 alone
	looking, shaking atomic.Int32
	upgraded         atomic.Int64

	mu        sync.Mutex
	sizes     Sizes
	observing bool
	closed    bool
	conns     map[*Conn]struct{} // that stand
	dialing   int                // and have a slot for what they make
	turns     int                // dials under way, of those
	queue     []chan struct{}    // of dials that wait for their turn
	starving  int                // hosts with calls that wait for a slot
	tick      *time.Timer
	changes   []endpoint.Change // to tell of
	failed    map[netip.AddrPort]failing
}

// New returns a pool. It does no I/O and starts no goroutine.
func New(o Options, sizes Sizes) *Pool {
	p := &Pool{options: o, sizes: sizes, conns: make(map[*Conn]struct{}), hosts: make(map[string]*host), failed: make(map[netip.AddrPort]failing), pace: rate.NewLimiter(warmPace, dialsAtOnce)}
	p.life, p.end = context.WithCancel(context.Background())
	p.keeper.pool = p
	p.tls1, p.tls2 = tlsConfigs(o)
	only := new(http.Protocols)
	only.SetHTTP1(true)
	p.maker1 = p.maker(only, p.tls1)
	if p.wantsShared() {
		both := o.Protocols
		p.maker2 = p.maker(&both, p.tls2)
	}
	for _, name := range o.Hosts {
		p.hosts[name] = newHost(p, name)
	}
	return p
}

// wantsShared says whether HTTP/2 may be spoken at all. Without TLS nothing is
// negotiated: only a client that can't do otherwise speaks it.
func (p *Pool) wantsShared() bool {
	o := &p.options
	if o.Scheme == "https" {
		return o.Protocols.HTTP2()
	}
	return o.Protocols.UnencryptedHTTP2() && !o.Protocols.HTTP1()
}

// Resize gives the pool other sizes. Connections above them close as they become
// idle.
func (p *Pool) Resize(s Sizes) {
	p.mu.Lock()
	p.sizes = s
	var over []*Conn
	for _, c := range p.unusedLocked() {
		if len(p.conns)+p.dialing <= s.Connections {
			break
		}
		p.removeLocked(c, true)
		over = append(over, c)
	}
	for _, h := range p.hosts {
		h.wakeLocked()
	}
	p.unlock()
	closeAll(over)
}

// Observe lifts the limit on connections, and has endpoints judged without
// consequence.
func (p *Pool) Observe(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observing = on
	for _, h := range p.hosts {
		h.set.Observe(on)
		h.wakeLocked()
	}
}

// limitLocked is how many connections there may be. In observe mode calls beyond
// the plan need more of them.
func (p *Pool) limitLocked() int {
	if p.observing {
		return math.MaxInt
	}
	return p.sizes.Connections
}

// CloseIdle closes the connections that nobody uses.
func (p *Pool) CloseIdle() {
	p.mu.Lock()
	unused := p.unusedLocked()
	for _, c := range unused {
		p.removeLocked(c, true)
	}
	p.unlock()
	closeAll(unused)
}

// Close refuses those that wait, closes what is unused, has the rest close after
// its last exchange, and waits for dials to end.
func (p *Pool) Close() {
	p.keeper.halt()
	p.mu.Lock()
	p.closed = true
	if p.tick != nil {
		p.tick.Stop()
	}
	for _, h := range p.hosts {
		h.failLocked(ErrClosed)
	}
	var all []*Conn
	for c := range p.conns {
		all = append(all, c)
		p.removeLocked(c, true)
	}
	p.unlock()
	p.end()
	closeAll(all)
	p.work.Wait()
}

// start runs f on a goroutine that Close waits for, unless it is too late.
func (p *Pool) startLocked(f func()) bool {
	if p.closed {
		return false
	}
	p.work.Go(f)
	return true
}

// unlock unlocks the pool, and then tells its owner what has happened.
func (p *Pool) unlock() {
	changes := p.changes
	p.changes = nil
	p.mu.Unlock()
	for _, c := range changes {
		p.options.Events.Judged(c)
	}
}

// unusedLocked are the connections without an exchange, the oldest first.
func (p *Pool) unusedLocked() []*Conn {
	var unused []*Conn
	for c := range p.conns {
		if c.unusedLocked() {
			unused = append(unused, c)
		}
	}
	slices.SortFunc(unused, func(a, b *Conn) int { return a.born.Compare(b.born) })
	return unused
}

func closeAll(conns []*Conn) {
	for _, c := range conns {
		c.closeUnused()
	}
}

// Counts are a pool at one instant.
type Counts struct {
	Open, Idle, Dialing, Upgraded int
	Oldest                        time.Duration
}

// Counts counts.
func (p *Pool) Counts() Counts {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	n := Counts{Open: len(p.conns), Dialing: p.dialing, Upgraded: int(p.upgraded.Load())}
	for c := range p.conns {
		n.Oldest = max(n.Oldest, now.Sub(c.born))
	}
	n.Idle = len(p.unusedLocked())
	return n
}

// Endpoints are the endpoints of a host at one instant.
func (p *Pool) Endpoints(host string) []endpoint.State {
	if h := p.hosts[host]; h != nil {
		return h.set.Snapshot(time.Now())
	}
	return nil
}

// Judgements sums the endpoints of all hosts up.
func (p *Pool) Judgements() (sum endpoint.Counts) {
	for _, h := range p.hosts {
		n := h.set.Counts()
		sum.Endpoints += n.Endpoints
		sum.Out += n.Out
		for i := range n.Applied {
			sum.Applied[i] += n.Applied[i]
			sum.Observed[i] += n.Observed[i]
		}
	}
	return sum
}

// Plain says whether the upstream has turned HTTP/2 down.
func (p *Pool) Plain() bool { return p.maker2 == nil || p.plain.Load() }
