package httpclient

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestOldConnectionsAreReplacedWithoutLosingARequest(t *testing.T) {
	for _, protocol := range []string{"http", "https", "HTTP/2.0"} {
		c, dials := counted(t, capacity.Plan{InFlight: 4, Attempts: capacity.NoRetry}, protocol, func(w http.ResponseWriter, r *http.Request) {
			io.Copy(w, r.Body)
		})
		c.core.options.MaxAge = 5 * time.Millisecond // before the first connection
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for j := range 18 {
					body := io.Reader(nil)
					switch (i + j) % 3 {
					case 1:
						body = strings.NewReader("again")
					case 2:
						body = io.MultiReader(strings.NewReader("once")) // of unknown length, and only once
					}
					resp, err := c.Post("/", "text/plain", body)
					if err != nil {
						t.Errorf("%s: call %d.%d = %v, want a response", protocol, i, j, err)
						continue
					}
					read(t, resp)
				}
			})
		}
		wg.Wait()
		if got := dials(); got <= 4 {
			t.Errorf("%s: connections = %d, want more than 4: old ones are replaced", protocol, got)
		}
		wantIdle(t, c)
	}
}

func TestConnectionsOpenedTogetherAgeApart(t *testing.T) {
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1000}, &Options{MaxAge: 100 * time.Second})
	now := time.Now()
	var earliest, latest time.Duration = time.Hour, 0
	for range 200 {
		a, b := net.Pipe()
		b.Close()
		c.core.dialer.slots.TryEnter()
		conn := c.core.dialer.adopt(a, "upstream.example:80")
		age := conn.retire.Sub(now)
		earliest, latest = min(earliest, age), max(latest, age)
		conn.Close()
	}
	if earliest < 90*time.Second || latest > 111*time.Second || latest-earliest < 10*time.Second {
		t.Errorf("ages from %v to %v, want them spread over 90s to 110s", earliest, latest)
	}
}

func TestTrafficFollowsDNSWithinTheAge(t *testing.T) {
	var at [2]atomic.Int32
	serve := func(i int, address string) net.Listener {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Skip("this system has no such loopback address: ", err)
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
	together(t, c, 4)                   // the last on the old connections
	before := at[0].Load()
	for range 10 {
		together(t, c, 4)
	}
	if got := at[0].Load() - before; got != 0 {
		t.Errorf("requests to the old address after its connections' age = %d, want 0", got)
	}
	if got := at[1].Load(); got < 40 {
		t.Errorf("requests to the new address = %d, want at least 40", got)
	}
}
