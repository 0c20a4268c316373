package offtaketest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/pipenet"
)

// Options is how an upstream is set up. Nil, and every zero field, is a default.
type Options struct {
	// Endpoints is how many addresses the upstream has. The default is 1. Connections go
	// to them in turn.
	Endpoints int

	// HTTP2 has it speak HTTP/2 in plaintext, and nothing else. The default is HTTP/1.1.
	HTTP2 bool
}

// Upstream is a fake upstream. Make one with [Loopback] or [Pipes]; it ends with
// its test. All methods may be called from any goroutine.
//
// Each request has the next step of the script. The last one goes on for all that
// follow; without a script, every request is answered 200.
type Upstream struct {
	http2     bool
	endpoints []endpoint

	mu     sync.Mutex
	script []Step
	dials  int
	broken map[int]bool
	sent   []Request
}

// endpoint is one address.
type endpoint struct {
	net.Listener
	dial func(ctx context.Context) (net.Conn, error)
}

// Request is one that the upstream has seen, whatever came of it.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         string // as far as it came
	Endpoint     int    // which address it came to, from 0
	At           time.Time
}

// Loopback starts an upstream on 127.0.0.1.
func Loopback(t testing.TB, o *Options, script ...Step) *Upstream {
	t.Helper()
	return start(t, o, script, func() endpoint {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return endpoint{l, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		}}
	})
}

// Pipes starts an upstream without sockets, for a bubble of testing/synctest.
func Pipes(t testing.TB, o *Options, script ...Step) *Upstream {
	t.Helper()
	return start(t, o, script, func() endpoint {
		l := pipenet.Listen()
		return endpoint{l, func(ctx context.Context) (net.Conn, error) { return l.Dial(ctx, "", "") }}
	})
}

func start(t testing.TB, o *Options, script []Step, listen func() endpoint) *Upstream {
	t.Helper()
	u := &Upstream{script: slices.Clone(script), broken: make(map[int]bool)}
	endpoints := 1
	if o != nil {
		endpoints, u.http2 = max(1, o.Endpoints), o.HTTP2
	}
	for range endpoints {
		u.endpoints = append(u.endpoints, listen())
	}
	for i := range u.endpoints {
		u.serve(t, i)
	}
	return u
}

// serve serves one endpoint until the test ends.
func (u *Upstream) serve(t testing.TB, i int) {
	server := &http.Server{
		Handler:   http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { u.answer(w, r, i) }),
		Protocols: u.protocols(),
		ErrorLog:  log.New(io.Discard, "", 0), // trouble is meant
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(u.endpoints[i])
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
}

func (u *Upstream) protocols() *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!u.http2)
	p.SetUnencryptedHTTP2(u.http2)
	return p
}

// answer notes a request, and takes its step.
func (u *Upstream) answer(w http.ResponseWriter, r *http.Request, endpoint int) {
	body, _ := io.ReadAll(r.Body) // what came counts
	r.Body = io.NopCloser(bytes.NewReader(body))
	u.next(Request{r.Method, r.URL.Path, r.Header.Clone(), string(body), endpoint, time.Now()})(w, r)
}

func (u *Upstream) next(r Request) Step {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent = append(u.sent, r)
	switch len(u.script) {
	case 0:
		return OK("")
	case 1:
		return u.script[0]
	}
	step := u.script[0]
	u.script = u.script[1:]
	return step
}

// Script replaces what is left of the script.
func (u *Upstream) Script(script ...Step) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.script = slices.Clone(script)
}

// Break makes one endpoint a bad one: whoever dials it is refused. Connections that
// stand are left. Mend takes it back.
func (u *Upstream) Break(endpoint int) { u.setBroken(endpoint, true) }

// Mend makes a bad endpoint a good one.
func (u *Upstream) Mend(endpoint int) { u.setBroken(endpoint, false) }

func (u *Upstream) setBroken(endpoint int, broken bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.broken[endpoint] = broken
}

// URL is the target for a client. That of [Loopback] is the address of the first
// endpoint. That of [Pipes] is a name that does not resolve: a client that does not
// come from [Upstream.Client] must use Dial, too.
func (u *Upstream) URL() string {
	if _, ok := u.endpoints[0].Addr().(*net.TCPAddr); ok {
		return "http://" + u.Address(0)
	}
	return "http://upstream.test"
}

// Address is where one endpoint listens.
func (u *Upstream) Address(endpoint int) string { return u.endpoints[endpoint].Addr().String() }

var errRefused = errors.New("connection refused by the test")

// Dial connects to the next endpoint, whatever the address: it is a DialContext.
func (u *Upstream) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	u.mu.Lock()
	i := u.dials % len(u.endpoints)
	u.dials++
	broken := u.broken[i]
	u.mu.Unlock()
	if broken {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: u.endpoints[i].Addr(), Err: errRefused}
	}
	return u.endpoints[i].dial(ctx)
}
