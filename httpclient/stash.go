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
	mu     sync.Mutex
	conns  []stashed
	closed bool
}

type stashed struct {
	address string
	conn    net.Conn // as the transport wants it: plain, or a *tls.Conn
	expiry  *time.Timer
}

// put keeps a connection for so long, and says whether it did.
func (s *stash) put(address string, c net.Conn, keep time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	s.conns = append(s.conns, stashed{address, c, time.AfterFunc(keep, func() { s.drop(c) })})
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
	for i := len(s.conns) - 1; i >= 0; i-- {
		if at := s.conns[i]; at.address == address {
			at.expiry.Stop()
			s.conns = slices.Delete(s.conns, i, i+1)
			return at.conn
		}
	}
	return nil
}

func (s *stash) drop(c net.Conn) {
	s.mu.Lock()
	for i, at := range s.conns {
		if at.conn == c {
			at.expiry.Stop()
			s.conns = slices.Delete(s.conns, i, i+1)
			break
		}
	}
	s.mu.Unlock()
	c.Close()
}

// dropOthers closes those to any other address.
func (s *stash) dropOthers(address string) {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, at := range conns {
		if at.address != address {
			s.drop(at.conn)
		}
	}
}

// prune closes those that are no longer alive.
func (s *stash) prune() {
	s.mu.Lock()
	conns := slices.Clone(s.conns)
	s.mu.Unlock()
	for _, at := range conns {
		if !alive(at.conn) {
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
