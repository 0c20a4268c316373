package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// frozen relays to a server until it is frozen: then nothing comes through any
// more, on connections that stand.
type frozen struct {
	net.Listener
	to   string
	stop atomic.Pointer[chan struct{}]
}

func freezer(t *testing.T, to string) *frozen {
	t.Helper()
	f := &frozen{Listener: newListener(t, "127.0.0.1:0"), to: strings.TrimPrefix(to, "https://")}
	first := make(chan struct{})
	f.stop.Store(&first)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			down, err := f.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("tcp", f.to)
			if err != nil {
				down.Close()
				continue
			}
			mu.Lock()
			conns = append(conns, down, up)
			mu.Unlock()
			stop := *f.stop.Load()
			wg.Go(func() { relay(up, down, stop) })
			wg.Go(func() { relay(down, up, stop) })
		}
	})
	t.Cleanup(func() {
		f.Close()
		mu.Lock()
		for _, c := range conns {
			c.Close()
		}
		mu.Unlock()
		close(*f.stop.Load())
		wg.Wait()
	})
	return f
}

// freeze stops all connections that stand; later ones work.
func (f *frozen) freeze() {
	next := make(chan struct{})
	close(*f.stop.Swap(&next))
}

// relay copies until it is stopped, and then only swallows.
func relay(to, from net.Conn, stop chan struct{}) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		select {
		case <-stop:
			return
		default:
		}
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			to.Close()
			return
		}
	}
}

func TestAConnectionWhosePeerIsGoneIsLeftAfterOneAttempt(t *testing.T) {
	for name, base := range map[string]*http.Transport{
		"without a ping":      {},
		"with a ping in time": {HTTP2: &http.HTTP2Config{SendPingTimeout: 300 * time.Millisecond, PingTimeout: 200 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 4, Streams: 4, Attempt: 500 * time.Millisecond, Deadline: 2 * time.Second, Attempts: capacity.NoRetry}
			_, server := streamed(t, plan, nil, nil, slow(0))
			f := freezer(t, server.URL)
			base.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, network, f.Addr().String())
			}
			base.TLSClientConfig = rootsOf(server)
			c := newClient(t, server.URL, plan, &Options{Base: base, Protocols: http2Only()})
			together(t, c, 4)
			f.freeze()
			failed := 0
			for range 10 {
				resp, err := get(t, c, "/")
				if err != nil {
					failed++
					continue
				}
				read(t, resp)
			}
			if failed == 0 || failed > 2 {
				t.Errorf("calls that failed = %d of 10, want 1 or 2", failed)
			}
		})
	}
}

func TestAPeerThatReadsNothingStopsOnlyItsOwnConnection(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Connections: 2, Streams: 4, Attempt: 300 * time.Millisecond, Deadline: time.Second, Attempts: capacity.NoRetry}
	_, server := streamed(t, plan, nil, nil, func(_ http.ResponseWriter, r *http.Request) { io.Copy(io.Discard, r.Body) })
	f := freezer(t, server.URL)
	c := newClient(t, server.URL, plan, &Options{Protocols: http2Only(), Base: &http.Transport{
		TLSClientConfig: rootsOf(server),
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, network, f.Addr().String())
		},
	}})
	together(t, c, 1)
	f.freeze()
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := c.Post("/", "", bytes.NewReader(make([]byte, 8<<20))) // more than any buffer takes
		if _, ok := errors.AsType[*TimeoutError](err); !ok {
			t.Errorf("upload = %v, want a TimeoutError", err)
		}
	})
	failed := 0
	for range 5 {
		if resp, err := get(t, c, "/"); err != nil {
			failed++
		} else {
			read(t, resp)
		}
	}
	wg.Wait()
	if failed > 2 {
		t.Errorf("calls that failed beside the upload = %d of 5, want 2 at the most", failed)
	}
	wantIdle(t, c)
}
