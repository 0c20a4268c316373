// Package pipenet connects clients and servers over net.Pipe, so that real HTTP
// and gRPC run inside a testing/synctest bubble, where time stands still until
// everybody waits.
package pipenet

import (
	"context"
	"errors"
	"net"
	"sync"
)

// Listener is a net.Listener to dial with [Listener.Dial]. Make one with
// [Listen].
type Listener struct {
	conns chan net.Conn
	done  chan struct{}
	close func()
}

// Listen returns a listener.
func Listen() *Listener {
	l := &Listener{conns: make(chan net.Conn), done: make(chan struct{})}
	l.close = sync.OnceFunc(func() { close(l.done) })
	return l
}

// Dial connects to the listener, whatever the address. It waits until the
// connection is accepted.
func (l *Listener) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: l.Addr(), Err: errors.New("connection refused")}
	case <-ctx.Done():
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: l.Addr(), Err: context.Cause(ctx)}
	}
}

// Accept implements net.Listener.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. Connections that stand are not closed.
func (l *Listener) Close() error {
	l.close()
	return nil
}

// Addr implements net.Listener.
func (l *Listener) Addr() net.Addr { return addr{} }

type addr struct{}

func (addr) Network() string { return "pipe" }
func (addr) String() string  { return "pipe" }
