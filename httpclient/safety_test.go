package httpclient

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestARedirectIsAResponseUnlessAskedFor(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request reached another host, with headers %v", r.Header)
	}))
	defer other.Close()
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/far":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	}
	for _, tt := range []struct {
		path   string
		follow bool
		status int
		err    bool
	}{
		{"/near", false, 302, false}, {"/far", false, 302, false},
		{"/near", true, 200, false}, {"/far", true, 0, true}, {"/round", true, 0, true},
	} {
		c, _ := loopback(t, capacity.Plan{InFlight: 1}, &Options{FollowRedirects: tt.follow}, handler)
		req, _ := http.NewRequestWithContext(t.Context(), "GET", tt.path, nil)
		req.Header.Set("X-Api-Key", "secret")
		resp, err := c.Do(req)
		if _, ok := errors.AsType[*RedirectError](err); ok != tt.err {
			t.Errorf("%s, follow %v: err = %v, want a RedirectError: %v", tt.path, tt.follow, err, tt.err)
		}
		if err == nil {
			if read(t, resp); resp.StatusCode != tt.status {
				t.Errorf("%s, follow %v: status %d, want %d", tt.path, tt.follow, resp.StatusCode, tt.status)
			}
		}
		wantIdle(t, c)
	}
}

func TestTheCallersRequestIsNeverModified(t *testing.T) {
	var n atomic.Int32
	c, server := loopback(t, capacity.Plan{InFlight: 1, Attempts: 3, RetryShare: 1}, nil, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%3 != 0 {
			w.WriteHeader(503)
		}
	})
	c.core.options.MaxAge = time.Nanosecond
	c.core.dialer.retiring.Store(true)
	for range 3 {
		req, _ := http.NewRequestWithContext(t.Context(), "PUT", strings.ToUpper(server.URL[:4])+server.URL[4:]+"/path?q=1#f", strings.NewReader("body"))
		req.Header.Set("X-Custom", "mine")
		header, host, u := maps.Clone(req.Header), req.Host, *req.URL
		resp, err := c.core.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if !reflect.DeepEqual(req.Header, header) || req.Host != host || *req.URL != u || req.Close {
			t.Errorf("request after the call = %v %q %v, want %v %q %v", req.Header, req.Host, req.URL, header, host, &u)
		}
	}
}

// bodyWatch says whether it was closed.
type bodyWatch struct {
	io.Reader
	closed atomic.Bool
}

func (b *bodyWatch) Close() error {
	b.closed.Store(true)
	return nil
}

func TestTheRequestsBodyIsClosedHoweverTheCallEnds(t *testing.T) {
	for name, c := range faults(t) {
		body := &bodyWatch{Reader: strings.NewReader("body")}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "/", body)
		if _, err := c.Do(req); err == nil {
			t.Errorf("%s: err = nil, want one", name)
		}
		eventually(t, name+": the body closed", body.closed.Load)
	}
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1}, nil)
	body := &bodyWatch{Reader: strings.NewReader("body")}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://other.example/", body)
	if _, err := c.Do(req); err == nil || !body.closed.Load() {
		t.Errorf("for another host: err = %v, body closed %v, want an error and true", err, body.closed.Load())
	}
}

func TestANilOrZeroClientFailsAndDoesNotPanic(t *testing.T) {
	for name, c := range map[string]*Client{"nil": nil, "zero": {}} {
		req, _ := http.NewRequest("GET", "http://upstream.example/", nil)
		for method, err := range map[string]error{
			"Do":       second(c.Do(req)),
			"Get":      second(c.Get("http://upstream.example/")),
			"Head":     second(c.Head("http://upstream.example/")),
			"Post":     second(c.Post("http://upstream.example/", "", nil)),
			"PostForm": second(c.PostForm("http://upstream.example/", nil)),
			"Warm":     c.Warm(t.Context()),
			"Resize":   c.Resize(capacity.Plan{InFlight: 1}),
			"Shutdown": c.Shutdown(t.Context()),
			"Close":    c.Close(),
		} {
			if !errors.Is(err, errUnmade) {
				t.Errorf("%s client: %s() = %v, want %v", name, method, err, errUnmade)
			}
		}
		c.Observe(true)
		c.CloseIdleConnections()
		if got := c.Stats(); got != (Stats{}) {
			t.Errorf("%s client: Stats() = %+v, want nothing", name, got)
		}
	}
}

func second(_ *http.Response, err error) error { return err }

func TestACopyIsTheSameClient(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, slow(0))
	copied := *c
	resp, err := copied.Get("/")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Stats().InFlight; got != 1 {
		t.Errorf("in flight after a call of the copy = %d, want 1", got)
	}
	read(t, resp)
	copied.Close()
	if _, err := c.Get("/"); !errors.Is(err, offtake.ErrClosed) {
		t.Errorf("after Close of the copy = %v, want ErrClosed", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("a second Close() = %v, want nil", err)
	}
}

func TestAJarKeepsCookies(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	c, server := loopback(t, capacity.Plan{InFlight: 1}, &Options{Jar: jar}, func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("session"); err == nil {
			io.WriteString(w, cookie.Value)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "42"})
	})
	for _, want := range []string{"", "42"} {
		resp, err := c.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != want {
			t.Errorf("cookie = %q, want %q", got, want)
		}
	}
}

func TestAWrappedTransportSeesEachAttempt(t *testing.T) {
	var seen atomic.Int32
	o := &Options{Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			seen.Add(1)
			req = req.Clone(req.Context())
			req.Header.Set("Authorization", "Bearer token")
			return next.RoundTrip(req)
		})
	}}
	var n atomic.Int32
	c, _ := loopback(t, capacity.Plan{InFlight: 1, Attempts: 2}, o, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			w.WriteHeader(503)
		}
		io.WriteString(w, r.Header.Get("Authorization"))
	})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, resp); got != "Bearer token" || seen.Load() != 2 {
		t.Errorf("%q after %d attempts, want the token after 2", got, seen.Load())
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestAPanicInAWrapperGivesThePlaceBack(t *testing.T) {
	panics := true
	o := &Options{Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if panics {
				panic("a wrapper's mistake")
			}
			return next.RoundTrip(req)
		})
	}}
	c, _ := loopback(t, capacity.Plan{InFlight: 4}, o, slow(0))
	for range 100 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed, want it to go on")
				}
			}()
			get(t, c, "/")
		}()
	}
	wantIdle(t, c)
	wantCount(t, c, "request_duration_seconds", "protocol", 100)
	panics = false
	together(t, c, 4)
}

func TestAClientCertificateIsShown(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.Organization[0])
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	config := rootsOf(server)
	config.Certificates = server.TLS.Certificates
	c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Base: &http.Transport{TLSClientConfig: config}})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(server.TLS.Certificates[0].Certificate[0])
	if got, want := read(t, resp), leaf.Subject.Organization[0]; got != want {
		t.Errorf("the upstream saw %q, want %q", got, want)
	}
}

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

func TestSizesThatAMistakeOfUnitsMakesAreRefused(t *testing.T) {
	for name, plan := range map[string]capacity.Plan{
		"a deadline in the wrong unit":     {InFlight: 1, Deadline: 60_000 * time.Second},
		"attempts beyond the deadline":     {InFlight: 1, Attempt: 5 * time.Second, Deadline: 3 * time.Second},
		"a wait longer than the attempt":   {InFlight: 1, Wait: 2 * time.Second, Attempt: time.Second},
		"no places":                        {},
		"shared over HTTP/1.1":             {InFlight: 10, Streams: 10},
		"a connect longer than an attempt": {InFlight: 1, Attempt: 500 * time.Millisecond, Deadline: 2 * time.Second},
	} {
		if _, err := New("http://upstream.example", plan, &Options{Connect: time.Second}); err == nil {
			t.Errorf("%s: New() = nil error, want one", name)
		}
		c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 3}, &Options{Connect: time.Second})
		if err := c.Resize(plan); err == nil || c.Stats().Plan.InFlight != 3 {
			t.Errorf("%s: Resize() = %v, want an error and the old plan", name, err)
		}
	}
}

func TestHostsInAnyCaseUseOnePool(t *testing.T) {
	c, server := loopback(t, capacity.Plan{InFlight: 1}, nil, slow(0))
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	named := newClient(t, "http://LocalHost:"+port, capacity.Plan{InFlight: 1}, &Options{Base: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}})
	for _, host := range []string{"localhost", "LOCALHOST", "LocalHost"} {
		resp, err := named.Get("http://" + host + ":" + port + "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	}
	wantCount(t, named, "dials_total", "", 1)
	wantCount(t, c, "dials_total", "", 0)
}
