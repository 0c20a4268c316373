package grpcclient

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/connectivity"
)

// publishLocked tells grpc-go what calls may go on, the gate how many, and those
// who wait that something has changed.
func (f *filler) publishLocked() {
	if f.pool.closed || f.closed {
		return
	}
	p := &picker{pool: f.pool, spread: f.pool.core.options.Spread}
	fill := int64(f.pool.core.sizes.Load().plan.Streams)
	var (
		coming  int
		resting *nap
		errs    = []error{f.pool.err}
	)
	for _, e := range f.endpoints {
		var open server
		for _, l := range e.links {
			switch l.state {
			case connectivity.Ready:
				most := l.most()
				open = append(open, seat{link: l, picker: l.picker, fill: min(fill, most), most: most})
			case connectivity.TransientFailure:
				if l.resting && (resting == nil || l.wakeable.Before(resting.until)) {
					resting = &nap{filler: f, until: l.wakeable}
				}
				errs = append(errs, l.err)
			default:
				coming++
			}
		}
		if len(open) > 0 {
			p.servers = append(p.servers, open)
		}
	}
	p.coming = coming > 0
	f.pool.countLocked()
	switch {
	case len(p.servers) > 0:
		f.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Ready, Picker: p})
	case coming > 0:
		f.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Connecting, Picker: none{balancer.ErrNoSubConnAvailable}})
	case resting != nil:
		f.cc.UpdateState(balancer.State{ConnectivityState: connectivity.Connecting, Picker: resting})
	default:
		err := distinct(errs)
		if err == nil {
			err = errNoAddresses
		}
		f.cc.UpdateState(balancer.State{ConnectivityState: connectivity.TransientFailure, Picker: none{err}})
	}
}

// none is the picker while no link is ready: a call has the error, or waits for one
// that comes.
type none struct{ err error }

// Pick implements balancer.Picker.
func (n none) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	attemptOf(info).blocked()
	return balancer.PickResult{}, n.err
}

// nap is the picker while all links rest: the first call has them dialed, as soon as
// that may be. Calls wait for it.
type nap struct {
	filler *filler
	until  time.Time
	once   sync.Once
}

// Pick implements balancer.Picker.
func (n *nap) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	attemptOf(info).blocked()
	n.once.Do(func() { n.filler.pool.after(max(0, time.Until(n.until)), n.filler.wake) })
	return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
}

// attemptOf is whose pick it is; nil for calls that are not of this package.
func attemptOf(info balancer.PickInfo) *attempt {
	a, _ := info.Ctx.Value(attemptKey{}).(*attempt)
	return a
}

// picker chooses a connection for each call, from those that were ready when it was
// made. It never makes a call wait for a stream: there are no more calls than
// streams, and what one more would do is for the gate to say.
type picker struct {
	pool    *pool
	servers []server
	next    atomic.Uint32
	spread  bool
	coming  bool // others are being dialed
}

// server is the ready links to one endpoint.
type server []seat

// seat is a link as it was.
type seat struct {
	*link
	picker     balancer.Picker
	fill, most int64 // calls on it before the next is used, and at all
}

// Pick implements balancer.Picker.
func (p *picker) Pick(info balancer.PickInfo) (balancer.PickResult, error) {
	a := attemptOf(info)
	s, over := p.choose(a)
	if s == nil {
		a.blocked()
		return balancer.PickResult{}, balancer.ErrNoSubConnAvailable
	}
	result, err := s.picker.Pick(info)
	if err != nil {
		s.streams.Add(-1)
		return result, err
	}
	over = over || s.room() == 0
	if over {
		p.pool.core.rpc.OverLimit()
	}
	a.picked(s.link, over)
	result.Done = p.pool.ticket(s.link, a).done
	return result, nil
}

// choose counts a call on one of the links, and says whether it is above the
// server's limit there. Nil is none: another may be ready soon.
func (p *picker) choose(a *attempt) (chosen *seat, over bool) {
	if a != nil && a.pinned != nil {
		return p.pinned(a.pinned)
	}
	n := len(p.servers)
	i := int(p.next.Add(1) % uint32(n)) // an int may have 32 bits, and a sign
	s := p.servers[i]
	if n > 1 { // the better of two: Mitzenmacher, IEEE TPDS 12(10), 2001
		if other := p.servers[(i+1+rand.IntN(n-1))%n]; other.load() < s.load() {
			s = other
		}
	}
	if chosen = s.take(p.spread, true); chosen != nil {
		return chosen, false
	}
	for _, healthy := range []bool{true, false} {
		for j := range n {
			if chosen = p.servers[(i+j)%n].take(p.spread, healthy); chosen != nil {
				return chosen, false
			}
		}
	}
	if p.coming {
		return nil, false
	}
	return p.force(), true
}

// pinned takes the link that a call must go on. It may be another filler's, if a
// policy above has several and chose among them.
func (p *picker) pinned(l *link) (*seat, bool) {
	p.pool.mu.Lock()
	defer p.pool.mu.Unlock()
	if l.state != connectivity.Ready {
		return nil, false
	}
	return &seat{link: l, picker: l.picker}, l.streams.Add(1) > l.most()
}

// force takes the link with the fewest calls when all are at their limits. That
// happens when links were lost after the calls had their places.
func (p *picker) force() *seat {
	var best *seat
	fewest := int64(math.MaxInt64)
	for _, s := range p.servers {
		for i := range s {
			if n := s[i].streams.Load() - s[i].most; n < fewest {
				best, fewest = &s[i], n
			}
		}
	}
	best.streams.Add(1)
	return best
}

// load is how many calls are out.
func (s server) load() (load int64) {
	for i := range s {
		load += s[i].streams.Load()
	}
	return load
}

// take counts a call on the first link that is not full yet, or on the one with the
// fewest, and if all are full on any that the server lets carry more. Healthy
// leaves out the suspected.
func (s server) take(spread, healthy bool) *seat {
	if spread {
		if best := s.emptiest(healthy); best != nil && best.link.take(best.most) {
			return best
		}
	}
	for i := range s {
		if (!healthy || !s[i].suspect.Load()) && s[i].link.take(s[i].fill) {
			return &s[i]
		}
	}
	if best := s.emptiest(healthy); best != nil && best.link.take(best.most) {
		return best
	}
	return nil
}

func (s server) emptiest(healthy bool) *seat {
	var best *seat
	for i := range s {
		if healthy && s[i].suspect.Load() {
			continue
		}
		if best == nil || s[i].streams.Load() < best.streams.Load() {
			best = &s[i]
		}
	}
	return best
}
