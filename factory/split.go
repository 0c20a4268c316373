package factory

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"
)

// split hands the connections of one listener to two: those that speak HTTP/2 and
// the others. Who stays silent for longer than a request's headers may take is
// nobody's, and is closed.
type split struct {
	net.Listener
	tls          *tls.Config // nil for none
	patience     time.Duration
	http1, http2 *half
	done         context.Context
	end          context.CancelFunc
}

func newSplit(l net.Listener, config *tls.Config, patience time.Duration) *split {
	s := &split{Listener: l, tls: config, patience: patience}
	s.done, s.end = context.WithCancel(context.Background())
	s.http1, s.http2 = &half{split: s, conns: make(chan net.Conn)}, &half{split: s, conns: make(chan net.Conn)}
	return s
}

// serve accepts until the listener is closed, and has waited by then for all that
// it looks at.
func (s *split) serve() error {
	var looking sync.WaitGroup
	defer looking.Wait()
	defer s.end()
	for pause := time.Duration(0); ; {
		c, err := s.Accept()
		switch {
		case s.done.Err() != nil:
			if err == nil {
				c.Close()
			}
			return nil
		case isTemporary(err): // out of file descriptors: as net/http does
			pause = min(max(5*time.Millisecond, 2*pause), time.Second)
			sleep(s.done, pause)
		case err != nil:
			return fmt.Errorf("factory: %v: %w", s.Addr(), err)
		default:
			pause = 0
			looking.Go(func() { s.give(c) })
		}
	}
}

func isTemporary(err error) bool {
	temporary, ok := err.(interface{ Temporary() bool })
	return ok && temporary.Temporary()
}

// give hands a connection to whom it speaks to.
func (s *split) give(c net.Conn) {
	stop := context.AfterFunc(s.done, func() { c.Close() })
	defer stop()
	_ = c.SetDeadline(time.Now().Add(s.patience)) // a connection that is closed says so when it is read
	told, isHTTP2, err := s.look(c)
	if err != nil {
		c.Close()
		return
	}
	_ = told.SetDeadline(time.Time{})
	to := s.http1
	if isHTTP2 {
		to = s.http2
	}
	select {
	case to.conns <- told:
	case <-s.done.Done():
		told.Close()
	}
}

// look finds what a connection speaks. What it has read is read again by whoever
// gets it.
func (s *split) look(c net.Conn) (told net.Conn, isHTTP2 bool, err error) {
	if s.tls != nil {
		secure := tls.Server(c, s.tls)
		err := secure.HandshakeContext(s.done)
		return secure, secure.ConnectionState().NegotiatedProtocol == "h2", err
	}
	// No method of HTTP/1.1 begins like HTTP/2's preface: RFC 9113, section 3.4.
	const preface = "PRI "
	var first [len(preface)]byte
	n := 0
	for n < len(preface) && string(first[:n]) == preface[:n] {
		read, err := c.Read(first[n:])
		n += read
		if err != nil {
			return nil, false, err
		}
	}
	return &begun{Conn: c, first: first[:n]}, string(first[:n]) == preface, nil
}

func (s *split) shutdown(context.Context) error {
	s.end()
	s.Listener.Close()
	return nil
}

// half is one side of a split, as a listener.
type half struct {
	*split
	conns chan net.Conn
}

// Accept implements net.Listener.
func (h *half) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done.Done():
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener: whoever stops listening does it for both.
func (h *half) Close() error { return h.shutdown(context.Background()) }

// begun is a connection of which the first bytes have been read.
type begun struct {
	net.Conn
	first []byte
}

// Read implements net.Conn.
func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) == 0 {
		return b.Conn.Read(p)
	}
	n := copy(p, b.first)
	b.first = b.first[n:]
	return n, nil
}
