package httpclient

// All of 127.0.0.0/8 is one's own on Linux alone.

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestConnectionsSpreadOverAllAddresses(t *testing.T) {
	var at [3]atomic.Int32
	port := serveAt(t, &at[0], "127.0.0.1:0")
	serveAt(t, &at[1], "127.0.0.2:"+port)
	serveAt(t, &at[2], "127.0.0.3:"+port)
	c := newClient(t, "http://upstream.example:"+port, capacity.Plan{InFlight: 12}, named("127.0.0.1", "127.0.0.2", "127.0.0.3"))
	if err := c.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range at {
		if n := at[i].Load(); n != 4 {
			t.Errorf("connections to 127.0.0.%d = %d, want 4 to each of 3", i+1, n)
		}
	}
}

func TestADeadAddressCostsNoMoreThanItsOwnTime(t *testing.T) {
	var dials atomic.Int32
	port := serveAt(t, &dials, "127.0.0.1:0")
	// RFC 5737 keeps the first for documentation: nobody answers there.
	c := newClient(t, "http://upstream.example:"+port, capacity.Plan{InFlight: 1}, named("192.0.2.1", "127.0.0.1"))
	for range 3 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatalf("call = %v, want the second address to do", err)
		}
		read(t, resp)
		c.CloseIdleConnections()
	}
	if got := dials.Load(); got != 3 {
		t.Errorf("connections = %d, want 3", got)
	}
}

// serveAt serves at an address, counts its connections, and returns the port.
func serveAt(t *testing.T, conns *atomic.Int32, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: slow(0), ConnState: func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func TestTrafficFollowsDNSWithinTheAge(t *testing.T) {
	var at, open [2]atomic.Int32
	serve := func(i int, address string) net.Listener {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { at[i].Add(1) }), ConnState: func(_ net.Conn, s http.ConnState) {
			switch s {
			case http.StateNew:
				open[i].Add(1)
			case http.StateClosed:
				open[i].Add(-1)
			}
		}}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
		return l
	}
	first := serve(0, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(first.Addr().String())
	serve(1, "127.0.0.2:"+port)

	var moved atomic.Bool
	c := newClient(t, "http://upstream.example:"+port, capacity.Plan{InFlight: 4}, &Options{MaxAge: 20 * time.Millisecond, Resolver: func(context.Context) ([]netip.AddrPort, time.Time, error) {
		if moved.Load() {
			return addresses("127.0.0.2"), time.Time{}, nil
		}
		return addresses("127.0.0.1"), time.Time{}, nil
	}})
	together(t, c, 4)
	moved.Store(true)
	eventually(t, "each connection has its successor", func() bool { return open[1].Load() > 0 && open[0].Load() == 0 })
	before := at[0].Load()
	for range 10 {
		together(t, c, 4)
	}
	if got := at[0].Load() - before; got > 0 {
		t.Errorf("requests to the old address after its connections' age = %d, want none", got)
	}
	if got := at[1].Load(); got != 40 {
		t.Errorf("requests to the new address = %d, want 40", got)
	}
}
