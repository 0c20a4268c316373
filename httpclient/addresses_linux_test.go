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
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 12}, nil)
	d := c.core.dialer
	server := newListener(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(server.Addr().String())
	d.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2"), netip.MustParseAddr("127.0.0.3")}, nil
	}
	for _, more := range []string{"127.0.0.2:", "127.0.0.3:"} {
		newListener(t, more+port)
	}
	got := make(map[string]int)
	for range 12 {
		conn, err := d.connectTCP(t.Context(), "tcp", "upstream.example:"+port)
		if err != nil {
			t.Fatal(err)
		}
		host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		got[host]++
		conn.Close()
	}
	for host, n := range got {
		if n != 4 || len(got) != 3 {
			t.Errorf("connections to %s = %d of %v, want 4 to each of 3", host, n, got)
		}
	}
}

func TestADeadAddressCostsNoMoreThanItsOwnTime(t *testing.T) {
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1}, &Options{Connect: 100 * time.Millisecond})
	d := c.core.dialer
	server := newListener(t, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(server.Addr().String())
	d.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		// RFC 5737 keeps the first for documentation: nobody answers there.
		return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("127.0.0.1")}, nil
	}
	for range 2 { // each comes first once
		conn, err := d.connectTCP(t.Context(), "tcp", "upstream.example:"+port)
		if err != nil {
			t.Fatalf("connect = %v, want the second address to do", err)
		}
		conn.Close()
	}
}

func TestTrafficFollowsDNSWithinTheAge(t *testing.T) {
	var at [2]atomic.Int32
	serve := func(i int, address string) net.Listener {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { at[i].Add(1) })}
		go s.Serve(l)
		t.Cleanup(func() { s.Close() })
		return l
	}
	first := serve(0, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(first.Addr().String())
	serve(1, "127.0.0.2:"+port)

	c := newClient(t, "http://upstream.example:"+port, capacity.Plan{InFlight: 4}, &Options{MaxAge: 20 * time.Millisecond})
	var moved atomic.Bool
	c.core.dialer.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		if moved.Load() {
			return []netip.Addr{netip.MustParseAddr("127.0.0.2")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	together(t, c, 4)
	moved.Store(true)
	<-time.After(25 * time.Millisecond) // older than any jitter allows
	before := at[0].Load()
	for range 10 {
		together(t, c, 4)
	}
	if got := at[0].Load() - before; got > 4 {
		t.Errorf("requests to the old address after its connections' age = %d, want 4 at the most: one on each", got)
	}
	if got := at[1].Load(); got < 36 {
		t.Errorf("requests to the new address = %d, want at least 36", got)
	}
}
