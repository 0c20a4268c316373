package httpclient

import (
	"net"
	"slices"
	"sync"
	"time"
)

// stash holds connections that were dialed before anybody needed them. The
// transport's own pool takes only connections that have carried a request; what
// is here is handed to it in place of a dial.
//
// A fresh connection that fails is never tried again by the transport, so that
// one that is no longer alive must not leave the stash.
type stash struct {
	mu      sync.Mutex
	conns   []stashed
	waiting []*wish
	closed  bool
}

type stashed struct {
	address string
	conn    net.Conn // as the transport wants it: plain, or a *tls.Conn
	since   time.Time
	expiry  *time.Timer
}

// wish is a dial that waits for a slot, and would as well have a connection that
// was dialed beforehand: the very one, perhaps, that took the last slot.
type wish struct {
	address string
	granted func()
	conn    net.Conn
}

// await takes note of a wish, unless there is a live connection for it already:
// then it returns that.
func (s *stash) await(w *wish) net.Conn {
	for {
		s.mu.Lock()
		c := s.popLocked(w.address)
		if c == nil {
			s.waiting = append(s.waiting, w)
		}
		s.mu.Unlock()
		if c == nil || alive(c) {
			return c
		}
		c.Close()
	}
}

// forget ends a wish, and returns what it was granted; nil for nothing.
func (s *stash) forget(w *wish) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.waiting, w); i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	return w.conn
}

// put keeps a connection for so long, unless somebody waits for it, and says
// whether it did.
func (s *stash) put(address string, c net.Conn, keep time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	for i, w := range s.waiting {
		if w.address == address {
			s.waiting = slices.Delete(s.waiting, i, i+1)
			w.conn = c
			w.granted()
			return true
		}
	}
	s.conns = append(s.conns, stashed{address, c, time.Now(), time.AfterFunc(keep, func() { s.drop(c) })})
	return true
}

// take returns a live connection to an address, or nil. The youngest goes first:
// the others may then expire together when nobody needs them.
func (s *stash) take(address string) net.Conn {
	for {
		c := s.pop(address)
		if c == nil || alive(c) {
			return c
		}
		c.Close()
	}
}

func (s *stash) pop(address string) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.popLocked(address)
}

func (s *stash) popLocked(address string) net.Conn {
	for i := len(s.conns) - 1; i >= 0; i-- {
		if at := s.conns[i]; at.address == address {
			at.expiry.Stop()
			s.conns = slices.Delete(s.conns, i, i+1)
			return at.conn
		}
	}
	return nil
}

// drop closes a connection that is still here. One that was given out meanwhile
// is somebody else's.
func (s *stash) drop(c net.Conn) {
	s.mu.Lock()
	i := slices.IndexFunc(s.conns, func(at stashed) bool { return at.conn == c })
	if i >= 0 {
		s.conns[i].expiry.Stop()
		s.conns = slices.Delete(s.conns, i, i+1)
	}
	s.mu.Unlock()
	if i >= 0 {
		c.Close()
	}
}

// dropOthers closes those to any other address.
func (s *stash) dropOthers(address string) {
	s.dropIf(func(at stashed) bool { return at.address != address })
}

// dropOldest closes the one that has been kept for longest, if that is longer than
// age, and says whether it did.
func (s *stash) dropOldest(age time.Duration) bool {
	s.mu.Lock()
	var oldest net.Conn
	if len(s.conns) > 0 && time.Since(s.conns[0].since) > age {
		oldest = s.conns[0].conn
	}
	s.mu.Unlock()
	if oldest == nil {
		return false
	}
	s.drop(oldest)
	return true
}

// prune closes those that are no longer alive.
func (s *stash) prune() {
	s.dropIf(func(at stashed) bool { return !alive(at.conn) })
}

func (s *stash) dropIf(unwanted func(stashed) bool) {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, at := range conns {
		if unwanted(at) {
			s.drop(at.conn)
		}
	}
}

func (s *stash) close() {
	s.mu.Lock()
	conns := s.conns
	s.conns, s.closed = nil, true
	s.mu.Unlock()
	for _, at := range conns {
		at.expiry.Stop()
		at.conn.Close()
	}
}
