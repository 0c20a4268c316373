package pool

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const (
	stagger   = 250 * time.Millisecond // between two attempts: RFC 8305, section 5
	mostTries = 10                     // addresses for one dial
)

// race dials the addresses of a name, each within Connect: the next one as soon as
// one fails, or has not succeeded for a while. The first connection wins. It
// returns the name of the endpoint as well.
//
// It is tempting to leave this to net.Dialer. But that divides its timeout among
// the addresses, with 2 s for each at least: with a timeout below that and one
// dead address it never reaches the next. And it forgets which are dead.
func (p *Pool) race(ctx context.Context, network, address string) (net.Conn, string, error) {
	name, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, "", err
	}
	all, err := p.addresses(ctx, name, port)
	if err != nil {
		return nil, "", err
	}
	var own *host
	if m := makingOf(ctx); m != nil && m.host.address == address {
		own = m.host
	}
	order, over := p.order(own, all)
	defer over()
	if len(order) == 1 {
		c, err := p.connectOne(ctx, network, order[0])
		if err != nil {
			return nil, "", &DialError{Connect, err}
		}
		return c, order[0].String(), nil
	}
	return p.tryAll(ctx, network, order)
}

type tried struct {
	at   netip.AddrPort
	conn net.Conn
	err  error
}

func (p *Pool) tryAll(ctx context.Context, network string, order []netip.AddrPort) (net.Conn, string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan tried)
	next := time.NewTimer(0)
	defer next.Stop()
	var won *tried
	var failed []tried
	begun, under := 0, 0
	limit := min(len(order), mostTries)
	for won == nil && (under > 0 || begun < limit) {
		select {
		case <-next.C:
			if begun < limit && ctx.Err() == nil {
				at := order[begun]
				begun, under = begun+1, under+1
				go func() { // waited for below
					c, err := p.connectOne(ctx, network, at)
					results <- tried{at, c, err}
				}()
				next.Reset(stagger)
			} else {
				limit = begun
			}
		case r := <-results:
			under--
			if r.err == nil {
				won = &r
				break
			}
			p.remember(r.at, false)
			failed = append(failed, r)
			next.Reset(1)
		}
	}
	cancel()
	for range under {
		r := <-results
		if r.err == nil {
			r.conn.Close()
		}
		if won != nil && r.err != nil && beganBefore(order, r.at, won.at) {
			p.remember(r.at, false) // it was slower than one that began later
		}
	}
	if won == nil {
		return nil, "", &DialError{Connect, noneOf(len(order), failed)}
	}
	p.remember(won.at, true)
	return won.conn, won.at.String(), nil
}

func beganBefore(order []netip.AddrPort, a, b netip.AddrPort) bool {
	for _, at := range order {
		if at == a || at == b {
			return at == a
		}
	}
	return false
}

// noneOf says what happened without naming a thousand addresses.
func noneOf(all int, failed []tried) error {
	if len(failed) == 0 {
		return fmt.Errorf("none of %d addresses was tried in time", all)
	}
	err := failed[0].err
	if len(failed) > 1 {
		err = fmt.Errorf("%w; %w", err, failed[1].err)
	}
	if all > 2 {
		err = fmt.Errorf("%w (%d of %d addresses were tried)", err, len(failed), all)
	}
	return err
}

func (p *Pool) connectOne(ctx context.Context, network string, at netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{
		Timeout:         p.options.Connect,
		KeepAliveConfig: keepAlive,
		ControlContext:  userTimeout,
	}
	return dialer.DialContext(ctx, network, at.String())
}

// keepAlive finds a dead idle peer within 30 s; the kernel's own default would
// take over two hours, Go's two and a half minutes.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 3}

// unacknowledged is the same bound for a peer that is dead with data on its way
// to it: keep-alives do not run then.
const unacknowledged = 30 * time.Second
