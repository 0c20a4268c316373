package grpcclient

import (
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/balancer/pickfirst"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// policy builds fillers for grpc-go.
type policy struct{}

// grpc-go takes policies before main starts, and in no other way: its table of
// them has no lock.
func init() { balancer.Register(policy{}) }

// Name implements balancer.Builder.
func (policy) Name() string { return Policy }

// Build implements balancer.Builder. The pool comes with the credentials, which
// are the client's own: it is tempting to put a number for it into the policy's
// config, but then there has to be a table of all pools.
func (policy) Build(cc balancer.ClientConn, o balancer.BuildOptions) balancer.Balancer {
	f := &filler{cc: cc, options: o, child: balancer.Get(pickfirst.Name)}
	watched, ok := o.DialCreds.(*watchedCredentials)
	if !ok {
		return stray{cc}
	}
	f.pool = watched.pool
	f.pool.mu.Lock()
	if !f.pool.closed {
		f.pool.fillers = append(f.pool.fillers, f)
	}
	f.pool.mu.Unlock()
	f.pool.after(f.tick(f.pool.core.sizes.Load().plan.Connections), f.age)
	return f
}

// filler is the load-balancing policy: some connections to each address, one filled
// before the next is used.
type filler struct {
	cc      balancer.ClientConn
	options balancer.BuildOptions
	child   balancer.Builder
	pool    *pool

	// topology is held while endpoints change and while a child is called. A child
	// calls back with its own lock held, and finds pool.mu, never topology.
	topology sync.Mutex
	state    resolver.State

	// Written with topology and pool.mu held, and read with either.
	endpoints []*endpoint
	closed    bool
}

// endpoint is one server, as far as its name tells.
type endpoint struct {
	resolver.Endpoint
	links []*link
	heirs []*link // of links, until they are ready
}

// linksLocked are those that calls may be sent on, once they are ready.
func (f *filler) linksLocked() iter.Seq[*link] {
	return func(yield func(*link) bool) {
		for _, e := range f.endpoints {
			for _, l := range e.links {
				if !yield(l) {
					return
				}
			}
		}
	}
}

// UpdateClientConnState implements balancer.Balancer.
func (f *filler) UpdateClientConnState(s balancer.ClientConnState) error {
	if !slices.ContainsFunc(s.ResolverState.Endpoints, hasAddresses) {
		f.ResolverError(errNoAddresses)
		return balancer.ErrBadResolverState
	}
	f.pool.resolved()
	f.topology.Lock()
	defer f.topology.Unlock()
	f.state = s.ResolverState
	return f.applyLocked()
}

// resize applies a plan with another number of connections.
func (f *filler) resize() {
	f.topology.Lock()
	defer f.topology.Unlock()
	if !f.closed && len(f.state.Endpoints) > 0 {
		_ = f.applyLocked() // what a child says is in its state, too
	}
}

// applyLocked brings the links in line with the addresses and the plan. It keeps
// those that stay.
func (f *filler) applyLocked() error {
	old := resolver.NewEndpointMap[*endpoint]()
	for _, e := range f.endpoints {
		old.Set(e.Endpoint, e)
	}
	wanted := f.wantedLocked()
	each := f.pool.core.connectionsFor(max(1, len(wanted)))
	var (
		kept  []*endpoint
		leave []*link
		errs  []error
	)
	for _, at := range wanted {
		e, ok := old.Get(at)
		if !ok {
			e = &endpoint{}
		}
		old.Delete(at)
		e.Endpoint = at
		links := e.links[:min(each, len(e.links))]
		leave = append(leave, e.links[len(links):]...)
		for len(links) < each {
			links = append(links, f.newLink(e))
		}
		f.pool.mu.Lock()
		e.links = links
		f.pool.mu.Unlock()
		kept = append(kept, e)
	}
	for _, e := range old.All() {
		leave = append(append(leave, e.links...), e.heirs...)
	}
	f.pool.mu.Lock()
	f.endpoints = kept
	f.pool.mu.Unlock()
	for _, e := range kept {
		for _, l := range append(e.links[:len(e.links):len(e.links)], e.heirs...) {
			errs = append(errs, f.pointLocked(l, e))
		}
	}
	f.pool.mu.Lock()
	f.publishLocked()
	f.pool.mu.Unlock()
	for _, l := range leave {
		f.closeLocked(l)
	}
	return errors.Join(errs...)
}

// wantedLocked are the endpoints that the resolver has named, each of them once.
func (f *filler) wantedLocked() []resolver.Endpoint {
	seen := resolver.NewEndpointMap[bool]()
	var wanted []resolver.Endpoint
	for _, at := range f.state.Endpoints {
		if _, twice := seen.Get(at); !twice && hasAddresses(at) {
			seen.Set(at, true)
			wanted = append(wanted, at)
		}
	}
	return wanted
}

func hasAddresses(at resolver.Endpoint) bool { return len(at.Addresses) > 0 }

// newLink makes a link. It does not dial before it is pointed at its endpoint.
func (f *filler) newLink(e *endpoint) *link {
	l := &link{ClientConn: f.cc, filler: f, address: e.Addresses[0].Addr, state: connectivity.Connecting, since: time.Now()}
	l.picker = base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	l.limit.Store(unlimited)
	l.child = f.child.Build(l, f.options)
	return l
}

// pointLocked tells the child of a link its addresses, each with the link in it for
// the dialer and the credentials to find.
func (f *filler) pointLocked(l *link, e *endpoint) error {
	at := resolver.Endpoint{Attributes: e.Attributes}
	for _, a := range e.Addresses {
		a.Attributes = a.Attributes.WithValue(linkKey{}, l)
		at.Addresses = append(at.Addresses, a)
	}
	return l.child.UpdateClientConnState(balancer.ClientConnState{
		ResolverState: pickfirst.EnableHealthListener(resolver.State{Endpoints: []resolver.Endpoint{at}, Attributes: f.state.Attributes}),
	})
}

// wake dials the links that rest, as far as they have for long enough.
func (f *filler) wake() {
	f.pool.mu.Lock()
	var links []*link
	for l := range f.linksLocked() {
		if !time.Now().Before(l.wakeable) {
			l.woken++
			links = append(links, l)
		}
	}
	f.pool.mu.Unlock()
	for _, l := range links {
		l.connect()
	}
}

// closeLocked ends a link. Calls on it go on: grpc-go closes a connection when the
// last one is done.
func (f *filler) closeLocked(l *link) {
	if !l.closed {
		l.closed = true
		l.child.Close()
	}
}

// ResolverError implements balancer.Balancer. Addresses that are known stay in use.
func (f *filler) ResolverError(err error) {
	f.pool.mu.Lock()
	defer f.pool.mu.Unlock()
	f.pool.err = &resolveError{err}
	f.publishLocked()
}

// UpdateSubConnState implements balancer.Balancer. Nobody calls it: the children
// listen to their own.
func (f *filler) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}

// ExitIdle implements balancer.Balancer. Links never stay idle.
func (f *filler) ExitIdle() {}

// Close implements balancer.Balancer.
func (f *filler) Close() {
	f.topology.Lock()
	defer f.topology.Unlock()
	f.pool.mu.Lock()
	f.closed = true
	f.pool.fillers = slices.DeleteFunc(f.pool.fillers, func(at *filler) bool { return at == f })
	if !f.pool.closed {
		f.pool.countLocked()
	}
	f.pool.mu.Unlock()
	for _, e := range f.endpoints {
		for _, l := range append(e.links[:len(e.links):len(e.links)], e.heirs...) {
			f.closeLocked(l)
		}
	}
}

// stray is the policy in a client that is not of this package.
type stray struct{ cc balancer.ClientConn }

// UpdateClientConnState implements balancer.Balancer: it has every call fail.
func (s stray) UpdateClientConnState(balancer.ClientConnState) error {
	s.cc.UpdateState(balancer.State{
		ConnectivityState: connectivity.TransientFailure,
		Picker:            base.NewErrPicker(errors.New("grpcclient: the policy " + Policy + " works in clients made by grpcclient.New only")),
	})
	return nil
}

func (stray) ResolverError(error)                                        {}
func (stray) UpdateSubConnState(balancer.SubConn, balancer.SubConnState) {}
func (stray) Close()                                                     {}
func (stray) ExitIdle()                                                  {}
