package grpcclient

import (
	"math/rand/v2"
	"slices"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/resolver"
)

// age replaces the link whose turn it is, and has names resolved again, so that new
// servers are found: a resolver for DNS looks once, and then only when a connection is
// lost. It is the turn of the oldest; one that could not be replaced lately lets the
// others go first.
//
// It is tempting to leave a link that is young. But those that began together would
// then come of age together, and the last of them be replaced long after.
func (f *filler) age() {
	f.pool.mu.Lock()
	if f.closed {
		f.pool.mu.Unlock()
		return
	}
	var (
		oldest *link
		since  time.Time
		n      int
	)
	for l := range f.linksLocked() {
		n++
		at := l.since
		if l.renewed.After(at) {
			at = l.renewed
		}
		if l.state == connectivity.Ready && l.heir == nil && (oldest == nil || at.Before(since)) {
			oldest, since = l, at
		}
	}
	f.pool.mu.Unlock()
	f.cc.ResolveNow(resolver.ResolveNowOptions{})
	if oldest != nil {
		f.renew(oldest)
	}
	f.pool.after(f.tick(n), f.age)
}

// tick is the time between two replacements, so that n links are replaced one by
// one within their age: up to a fifth sooner, lest all clients do it together.
func (f *filler) tick(n int) time.Duration {
	every := f.pool.core.options.MaxAge / time.Duration(max(1, n))
	return every - rand.N(every/5+1)
}

// renew dials another link for the same endpoint, which takes the place of l once
// it is ready. It does so once a second at most: there may be many calls that have
// reason to ask for it.
func (f *filler) renew(l *link) {
	f.topology.Lock()
	defer f.topology.Unlock()
	i := slices.IndexFunc(f.endpoints, func(e *endpoint) bool { return slices.Contains(e.links, l) })
	if i < 0 || f.closed {
		return
	}
	f.pool.mu.Lock()
	soon := l.heir != nil || time.Since(l.renewed) < reconnectSpread
	if !soon {
		l.renewed = time.Now()
	}
	f.pool.mu.Unlock()
	if soon {
		return
	}
	e := f.endpoints[i]
	heir := f.newLink(e)
	f.pool.mu.Lock()
	heir.replaces, l.heir = l, heir
	e.heirs = append(e.heirs, heir)
	f.pool.mu.Unlock()
	_ = f.pointLocked(heir, e) // what it says is in its state, too
}

// inherit puts an heir that is ready into the place of the link it replaces, and
// ends that one.
func (f *filler) inherit(heir *link) {
	f.topology.Lock()
	defer f.topology.Unlock()
	f.pool.mu.Lock()
	old := heir.replaces
	if old == nil || heir.state != connectivity.Ready { // it may have broken since
		f.pool.mu.Unlock()
		return
	}
	heir.replaces, old.heir = nil, nil
	leave := heir // if the old one has left already
	for _, e := range f.endpoints {
		e.heirs = without(e.heirs, heir)
		if i := slices.Index(e.links, old); i >= 0 {
			e.links = slices.Clone(e.links)
			e.links[i], leave = heir, old
		}
	}
	f.publishLocked()
	f.pool.mu.Unlock()
	f.closeLocked(leave)
}

// disown ends an heir that can't be had.
func (f *filler) disown(heir *link) {
	f.topology.Lock()
	defer f.topology.Unlock()
	f.pool.mu.Lock()
	if old := heir.replaces; old != nil {
		heir.replaces, old.heir = nil, nil
	}
	for _, e := range f.endpoints {
		e.heirs = without(e.heirs, heir)
	}
	f.pool.mu.Unlock()
	f.closeLocked(heir)
}

// without is a copy of links that lacks l.
func without(links []*link, l *link) []*link {
	return slices.DeleteFunc(slices.Clone(links), func(at *link) bool { return at == l })
}
