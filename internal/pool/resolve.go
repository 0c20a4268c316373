package pool

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"net/netip"
	"slices"
	"strconv"
	"time"
)

// Resolver returns the addresses of a name, in the order to try them, and until
// when there is no need to ask again. A port of 0 is that of the target.
type Resolver func(ctx context.Context, host string) (addresses []netip.AddrPort, until time.Time, err error)

// System is the resolver of the system, asked for each dial: it has a cache, or is
// none of our business.
func System(ctx context.Context, host string) ([]netip.AddrPort, time.Time, error) {
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, time.Time{}, err
	}
	all := make([]netip.AddrPort, len(addresses))
	for i, at := range addresses {
		all[i] = netip.AddrPortFrom(at, 0)
	}
	return all, time.Time{}, nil
}

// mostAddresses is how many of a name's addresses are looked at.
const mostAddresses = 1000

// addresses are those of host, in the order of the resolver. If it fails or has
// none, those it had last still stand: what works is kept.
func (p *Pool) addresses(ctx context.Context, host, port string) ([]netip.AddrPort, error) {
	n, _ := strconv.ParseUint(port, 10, 16)
	if at, err := netip.ParseAddr(host); err == nil && p.options.Resolve == nil {
		return []netip.AddrPort{netip.AddrPortFrom(at, uint16(n))}, nil
	}
	m := makingOf(ctx)
	own := m != nil && m.host.address == net.JoinHostPort(host, port) // and not a proxy
	if own {
		p.mu.Lock()
		last, until := m.host.last, m.host.until
		p.mu.Unlock()
		if time.Now().Before(until) {
			return last, nil
		}
	}
	found, until, err := p.lookUp(ctx, host)
	if err == nil && len(found) == 0 {
		err = &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	}
	if err != nil {
		if own {
			p.mu.Lock()
			defer p.mu.Unlock()
			if len(m.host.last) > 0 && m.host.conns > 0 {
				return m.host.last, nil
			}
		}
		return nil, &DialError{DNS, err}
	}
	all := make([]netip.AddrPort, 0, len(found))
	seen := make(map[netip.AddrPort]bool, len(found))
	for _, at := range found[:min(len(found), mostAddresses)] {
		if at.Port() == 0 {
			at = netip.AddrPortFrom(at.Addr(), uint16(n))
		}
		at = netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
		if !seen[at] {
			seen[at] = true
			all = append(all, at)
		}
	}
	if own {
		p.mu.Lock()
		m.host.last, m.host.until = all, until
		p.mu.Unlock()
	}
	return all, nil
}

// lookUp keeps the trace from the sockets of the resolver, which are none of the
// request's.
func (p *Pool) lookUp(ctx context.Context, host string) (found []netip.AddrPort, until time.Time, err error) {
	p.looking.Add(1)
	defer p.looking.Add(-1)
	resolve := p.options.Resolve
	if resolve == nil {
		resolve = System
	}
	defer func() {
		if r := recover(); r != nil {
			err = errors.New("panic in the resolver")
		}
	}()
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.DNSStart != nil {
		trace.DNSStart(httptrace.DNSStartInfo{Host: host})
	}
	quiet, cancel := withoutValues(ctx)
	defer cancel()
	found, until, err = resolve(quiet, host)
	if trace != nil && trace.DNSDone != nil {
		info := httptrace.DNSDoneInfo{Err: err}
		for _, at := range found {
			info.Addrs = append(info.Addrs, net.IPAddr{IP: at.Addr().AsSlice(), Zone: at.Addr().Zone()})
		}
		trace.DNSDone(info)
	}
	return found, until, err
}

// withoutValues is a context that ends with ctx, and has nothing else of it.
func withoutValues(ctx context.Context) (context.Context, context.CancelFunc) {
	quiet, cancel := context.WithCancel(context.Background())
	if d, ok := ctx.Deadline(); ok {
		cancel()
		quiet, cancel = context.WithDeadline(context.Background(), d)
	}
	stop := context.AfterFunc(ctx, cancel)
	return quiet, func() {
		stop()
		cancel()
	}
}

// order is the order in which a dial tries addresses: those to which it has the
// fewest connections first, as the resolver has them, with the families in turn
// (RFC 8305, section 4); and after all others those that have failed of late or
// are left out.
//
// Connections spread over the addresses of the family that the resolver names
// first. The other is most likely another way to the same places.
//
// The dial counts as one of the first until it is over.
func (p *Pool) order(h *host, all []netip.AddrPort) (order []netip.AddrPort, over func()) {
	now := time.Now()
	p.mu.Lock()
	defer p.unlock()
	rank := make(map[netip.AddrPort]int, len(all))
	var first, second []netip.AddrPort
	for _, at := range all {
		if at.Addr().Is4() == all[0].Addr().Is4() {
			first = append(first, at)
		} else {
			second = append(second, at)
		}
	}
	if h != nil {
		names := make([]string, len(first))
		for i, at := range first {
			names[i] = at.String()
		}
		h.membersLocked(names)
		for _, at := range h.points {
			if address, err := netip.ParseAddrPort(at.endpoint.Name()); err == nil {
				rank[address] = len(at.conns) + at.dialing
				if h.set.LeftOut(now, at.endpoint) {
					rank[address] += bad
				}
			}
		}
	}
	for at, f := range p.failed {
		if now.Before(f.until) {
			rank[at] += bad
		}
	}
	byRank := func(a, b netip.AddrPort) int { return cmp.Compare(rank[a], rank[b]) }
	slices.SortStableFunc(first, byRank)
	slices.SortStableFunc(second, byRank)
	mixed := make([]netip.AddrPort, 0, len(all))
	for i := range max(len(first), len(second)) {
		mixed = append(mixed, first[min(i, len(first)):min(i+1, len(first))]...)
		mixed = append(mixed, second[min(i, len(second)):min(i+1, len(second))]...)
	}
	slices.SortStableFunc(mixed, func(a, b netip.AddrPort) int { return cmp.Compare(rank[a]/bad, rank[b]/bad) })
	if h == nil {
		return mixed, func() {}
	}
	for _, at := range h.points {
		if at.endpoint.Name() == mixed[0].String() {
			at.dialing++
			return mixed, func() {
				p.mu.Lock()
				defer p.mu.Unlock()
				at.dialing--
			}
		}
	}
	return mixed, func() {}
}

const bad = 1 << 20 // more than there are connections

// failing is an address that could not be reached, or only later than another.
type failing struct {
	until time.Time
	times int
}

// remember takes note of how an address did. The pause until it is first again
// grows.
func (p *Pool) remember(at netip.AddrPort, well bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if well {
		delete(p.failed, at)
		return
	}
	now := time.Now()
	if len(p.failed) >= mostAddresses {
		for known, f := range p.failed {
			if now.After(f.until) {
				delete(p.failed, known)
			}
		}
	}
	f, known := p.failed[at]
	if !known && len(p.failed) >= mostAddresses {
		return
	}
	f.times++
	f.until = now.Add(min(10*time.Second<<min(f.times-1, 8), 10*time.Minute))
	p.failed[at] = f
}
