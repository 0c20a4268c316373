package grpcclient

import (
	"slices"

	"google.golang.org/grpc/resolver"
)

// watchedBuilder builds a resolver with an eye on its errors. The first one comes
// before there is a load-balancing policy to hear of it: grpc-go has calls fail with
// it, and nobody who waits for connections would know why there are none.
type watchedBuilder struct {
	resolver.Builder
	pool *pool
}

// watchBuilder keeps what a builder says of the authority, if it does.
func watchBuilder(b resolver.Builder, p *pool) resolver.Builder {
	w := watchedBuilder{b, p}
	if o, ok := b.(resolver.AuthorityOverrider); ok {
		return struct {
			watchedBuilder
			resolver.AuthorityOverrider
		}{w, o}
	}
	return w
}

// Build implements resolver.Builder.
func (w watchedBuilder) Build(target resolver.Target, cc resolver.ClientConn, o resolver.BuildOptions) (resolver.Resolver, error) {
	r, err := w.Builder.Build(target, &watchedResolution{cc, w.pool}, o)
	if err != nil {
		w.pool.unresolved(err)
	}
	return r, err
}

// watchedResolution is where a resolver puts what it finds.
type watchedResolution struct {
	resolver.ClientConn
	pool *pool
}

// ReportError implements resolver.ClientConn.
func (w *watchedResolution) ReportError(err error) {
	w.pool.unresolved(err)
	w.ClientConn.ReportError(err)
}

// UpdateState implements resolver.ClientConn.
func (w *watchedResolution) UpdateState(s resolver.State) error {
	if slices.ContainsFunc(s.Endpoints, hasAddresses) || len(s.Addresses) > 0 {
		w.pool.resolved()
	}
	return w.ClientConn.UpdateState(s)
}

// unresolved notes that a name has no addresses, and why.
func (p *pool) unresolved(err error) { p.fail(&resolveError{err}) }

// resolved notes that it has some. What is wrong with their connections stays.
func (p *pool) resolved() {
	p.named.Store(true)
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.err.(*resolveError); ok { //nolint:errorlint // it is put there as it is
		p.err = nil
	}
}
