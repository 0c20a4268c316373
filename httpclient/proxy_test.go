package httpclient

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

// proxy opens tunnels, and counts them.
func proxy(t *testing.T, tunnels *atomic.Int32) *url.URL {
	t.Helper()
	l := newListener(t, "127.0.0.1:0")
	go func() {
		for {
			down, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer down.Close()
				r := bufio.NewReader(down)
				req, err := http.ReadRequest(r)
				if err != nil || req.Method != http.MethodConnect {
					return
				}
				tunnels.Add(1)
				up, err := net.Dial("tcp", req.Host)
				if err != nil {
					return
				}
				defer up.Close()
				io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
				go io.Copy(up, r)
				io.Copy(down, up)
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

func TestCallsGoThroughAProxyAndAroundIt(t *testing.T) {
	for _, protocols := range []*http.Protocols{nil, http2Only()} {
		var tunnels atomic.Int32
		at := proxy(t, &tunnels)
		direct := false
		base := &http.Transport{Proxy: func(req *http.Request) (*url.URL, error) {
			if req.URL.Port() == "" {
				t.Errorf("the proxy was asked for %s, want its port too", req.URL)
			}
			if direct { // as for NO_PROXY
				return nil, nil
			}
			return at, nil
		}}
		_, server := streamed(t, capacity.Plan{InFlight: 1}, nil, nil, slow(0))
		base.TLSClientConfig = rootsOf(server)
		for _, around := range []bool{false, true} {
			direct = around
			c := newClient(t, server.URL, capacity.Plan{InFlight: 3}, &Options{Base: base, Protocols: protocols, WarmPath: "/"})
			if err := c.Warm(t.Context()); err != nil {
				t.Fatalf("Warm() = %v, want nil", err)
			}
			together(t, c, 3)
			want := int32(3)
			if around {
				want = 0
			}
			if got := tunnels.Swap(0); got != want {
				t.Errorf("protocols %v, around %v: tunnels = %d, want %d", protocols, around, got, want)
			}
		}
	}
}
