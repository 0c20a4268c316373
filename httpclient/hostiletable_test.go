package httpclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// The table of hostile partners: each upstream with each body, wrapper, protocol
// and moment at which the caller leaves. The oracle is the rule in the package's
// doc, and knows nothing of how the client is made.

// hostileUpstreams are handlers. Each ends with leave.
var hostileUpstreams = map[string]func(leave <-chan struct{}, w http.ResponseWriter, r *http.Request){
	"well": func(_ <-chan struct{}, w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		io.WriteString(w, "ok")
	},
	"silent": func(leave <-chan struct{}, _ http.ResponseWriter, r *http.Request) { <-leave },
	"takes all and is silent": func(leave <-chan struct{}, _ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		<-leave
	},
	"early headers, then silent": func(leave <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		<-leave
	},
	"early answer, whole": func(_ <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTooManyRequests)
		io.WriteString(w, "no")
	},
	"early answer without content": func(leave <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		w.(http.Flusher).Flush()
		<-leave
	},
	"content-length 0, trailers, silent": func(leave <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Trailer", "X")
		w.Header().Set("Content-Length", "0")
		w.(http.Flusher).Flush()
		<-leave
	},
	"drop by drop": func(leave <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		for {
			io.WriteString(w, ".")
			w.(http.Flusher).Flush()
			select {
			case <-leave:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	},
	"half, then gone": func(_ <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		io.WriteString(w, "half")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	},
	"gone": func(<-chan struct{}, http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"informational for ever": func(leave <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		for {
			w.WriteHeader(http.StatusEarlyHints)
			select {
			case <-leave:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	},
	"a 101 that nobody asked for": func(leave <-chan struct{}, w http.ResponseWriter, _ *http.Request) {
		hijacker, ok := w.(http.Hijacker)
		if !ok { // HTTP/2 has none
			panic(http.ErrAbortHandler)
		}
		conn, _, _ := hijacker.Hijack()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\n\r\n")
		<-leave
		conn.Close()
	},
}

// hostileBody is a request's body that counts what is done to it.
type hostileBody struct {
	read          func(p []byte, n int64) (int, error)
	close         func()
	reads, closes atomic.Int64
}

func (b *hostileBody) Read(p []byte) (int, error) { return b.read(p, b.reads.Add(1)) }

func (b *hostileBody) Close() error {
	b.closes.Add(1)
	if b.close != nil {
		b.close()
	}
	return nil
}

var errMine = errors.New("the file is gone")

// hostileBodies are nil for one that is in memory.
var hostileBodies = map[string]func(leave <-chan struct{}) io.Reader{
	"none":  func(<-chan struct{}) io.Reader { return nil },
	"short": func(<-chan struct{}) io.Reader { return bytes.NewReader(make([]byte, 100)) },
	"long":  func(<-chan struct{}) io.Reader { return bytes.NewReader(make([]byte, 1<<20)) },
	"blocks": func(leave <-chan struct{}) io.Reader {
		return &hostileBody{read: func(p []byte, n int64) (int, error) {
			if n == 1 {
				return copy(p, "piece"), nil
			}
			<-leave
			return copy(p, "late"), nil
		}}
	},
	"gives nothing": func(leave <-chan struct{}) io.Reader {
		return &hostileBody{read: func(p []byte, _ int64) (int, error) {
			select {
			case <-leave:
				return 0, io.EOF
			case <-time.After(10 * time.Millisecond):
				return 0, nil
			}
		}}
	},
	"steady for ever": func(leave <-chan struct{}) io.Reader {
		return &hostileBody{read: func(p []byte, _ int64) (int, error) {
			select {
			case <-leave:
				return 0, io.EOF
			case <-time.After(20 * time.Millisecond):
				return copy(p, "piece"), nil
			}
		}}
	},
	"fails": func(<-chan struct{}) io.Reader {
		return &hostileBody{read: func(p []byte, n int64) (int, error) {
			if n == 1 {
				return copy(p, "piece"), nil
			}
			return 0, errMine
		}}
	},
	"panics": func(<-chan struct{}) io.Reader {
		return &hostileBody{read: func([]byte, int64) (int, error) { panic(errMine) }}
	},
	"ends, and blocks in Close": func(leave <-chan struct{}) io.Reader {
		return &hostileBody{
			read:  func(p []byte, n int64) (int, error) { return copy(p, "piece"), io.EOF },
			close: func() { <-leave },
		}
	},
}

type hostileTripper func(*http.Request) (*http.Response, error)

func (f hostileTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

var hostileWrappers = map[string]func(http.RoundTripper) http.RoundTripper{
	"none": nil,
	"hands on": func(next http.RoundTripper) http.RoundTripper {
		return hostileTripper(func(r *http.Request) (*http.Response, error) { return next.RoundTrip(r.Clone(r.Context())) })
	},
	"nothing": func(next http.RoundTripper) http.RoundTripper {
		return hostileTripper(func(*http.Request) (*http.Response, error) { return nil, nil })
	},
	"drops the answer": func(next http.RoundTripper) http.RoundTripper {
		return hostileTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				resp.Body.Close()
				return nil, errMine
			}
			return nil, err
		})
	},
	"panics afterwards": func(next http.RoundTripper) http.RoundTripper {
		return hostileTripper(func(r *http.Request) (*http.Response, error) {
			if resp, err := next.RoundTrip(r); err == nil {
				resp.Body.Close()
			}
			panic(errMine)
		})
	},
}

// hostileMoments say when a caller leaves, and how. A moment of 0 is never.
var hostileMoments = map[string]struct {
	after  time.Duration
	expire bool // by a deadline, not by cancel
	then   func(*http.Response) error
}{
	"reads":                     {then: readAll},
	"closes unread":             {then: func(resp *http.Response) error { return resp.Body.Close() }},
	"forgets":                   {then: func(*http.Response) error { return nil }},
	"reads, canceled":           {after: 70 * time.Millisecond, then: readAll},
	"reads, out of time":        {after: 70 * time.Millisecond, expire: true, then: readAll},
	"forgets, canceled":         {after: 70 * time.Millisecond, then: func(*http.Response) error { return nil }},
	"canceled before it begins": {after: -1, then: readAll},
}

func readAll(resp *http.Response) error {
	_, err := io.ReadAll(resp.Body)
	return errors.Join(err, resp.Body.Close())
}

// glance is how late an unclosed body may end with its context.
const glance = 100 * time.Millisecond

var hostilePlan = capacity.Plan{
	InFlight: 1, Streams: 1, Queue: capacity.NoQueue, Attempts: capacity.NoRetry,
	Attempt: 150 * time.Millisecond, BodyIdle: 100 * time.Millisecond, Deadline: 300 * time.Millisecond,
}

// combination is one row of the table.
type combination struct{ upstream, body, wrapper, protocol, moment string }

func combinations(wrappers ...string) (all []combination) {
	for upstream := range hostileUpstreams {
		for body := range hostileBodies {
			for _, wrapper := range wrappers {
				for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
					for moment := range hostileMoments {
						all = append(all, combination{upstream, body, wrapper, protocol, moment})
					}
				}
			}
		}
	}
	return all
}

// run makes one call, holds it against the rule, and returns by how much it was
// late. The dial is to a server that run starts on l.
func (x combination) run(t *testing.T, l net.Listener, dial func(context.Context, string, string) (net.Conn, error), exact bool, settle func(func() bool)) (late time.Duration) {
	leave := make(chan struct{})
	protocols := new(http.Protocols)
	protocols.SetHTTP1(x.protocol == "HTTP/1.1")
	protocols.SetUnencryptedHTTP2(x.protocol == "HTTP/2")
	handle := hostileUpstreams[x.upstream]
	server := &http.Server{
		Protocols: protocols, ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(leave, w, r) }),
	}
	served := make(chan struct{})
	go func() { defer close(served); server.Serve(l) }()
	defer func() { server.Close(); <-served }()
	c, err := httpclient.New("http://upstream.example", hostilePlan, &httpclient.Options{
		Registerer: prometheus.NewRegistry(), Protocols: protocols, Wrap: hostileWrappers[x.wrapper],
		Base: &http.Transport{DialContext: dial},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	moment := hostileMoments[x.moment]
	ctx, cancel := context.WithCancel(context.Background())
	if moment.expire {
		ctx, cancel = context.WithTimeout(context.Background(), moment.after)
	} else if moment.after > 0 {
		defer time.AfterFunc(moment.after, cancel).Stop()
	} else if moment.after < 0 {
		cancel()
	}
	defer cancel()
	reader := hostileBodies[x.body](leave)
	req, _ := http.NewRequestWithContext(ctx, http.MethodPut, "/", reader)

	start := time.Now()
	err = call(c, req, moment.then)
	took := time.Since(start)
	body, _ := reader.(*hostileBody)
	var reads int64
	if body != nil && err != nil {
		reads = body.reads.Load()
	}
	bound := hostilePlan.Deadline
	if moment.after != 0 {
		bound = max(0, min(bound, moment.after))
	}
	late = max(0, took-bound)
	x.wantNamed(t, ctx, err, exact)

	settle(func() bool { return c.Stats().InFlight == 0 }) // a response that is forgotten ends later
	if since := time.Since(start); c.Stats().InFlight != 0 {
		t.Errorf("%+v: in flight = %d after %v, want 0", x, c.Stats().InFlight, since)
	}
	// One may have been about to begin.
	if body != nil && err != nil && body.reads.Load() > reads+1 {
		t.Errorf("%+v: %d Reads of the body began after the call had returned, want none but one that was asked for", x, body.reads.Load()-reads)
	}
	if got := c.Stats().Stuck; got > 1 {
		t.Errorf("%+v: stuck = %d, want 1 at the most", x, got)
	}
	close(leave)
	c.Close()
	settle(func() bool {
		s := c.Stats()
		return s.Open == 0 && s.Stuck == 0 && (body == nil || body.closes.Load() > 0)
	})
	if s := c.Stats(); s.Open != 0 || s.Stuck != 0 {
		t.Errorf("%+v: connections, stuck = %d, %d after Close, want 0, 0", x, s.Open, s.Stuck)
	}
	if body != nil && body.closes.Load() != 1 {
		t.Errorf("%+v: the body was closed %d times, want once", x, body.closes.Load())
	}
	return late
}

// call sends the request and does with the response what the caller would, who
// survives a panic of its own wrapper.
func call(c *httpclient.Client, req *http.Request, then func(*http.Response) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = v.(error)
		}
	}()
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	return then(resp)
}

// wantNamed holds an error against who may have ended the call.
// Where time is not exact, any body may be late.
func (x combination) wantNamed(t *testing.T, ctx context.Context, err error, exact bool) {
	t.Helper()
	caller, faulty := new(httpclient.CallerError), x.body == "fails" || x.body == "panics"
	timeout := new(httpclient.TimeoutError)
	switch {
	case err == nil:
	case errors.Is(err, offtake.ErrBusy), errors.Is(err, offtake.ErrClosed):
		t.Errorf("%+v: %v, want no refusal", x, err)
	case errors.As(err, &caller):
		if !faulty || !errors.Is(err, errMine) {
			t.Errorf("%+v: %v, want no fault of the body's but its own", x, err)
		}
	case errors.As(err, &timeout):
		if exact && timeout.Unsent && x.body != "blocks" && x.body != "gives nothing" && x.body != "steady for ever" {
			t.Errorf("%+v: %v, want a body that gives nothing to be one", x, err)
		}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if ctx.Err() == nil || !errors.Is(err, ctx.Err()) {
			t.Errorf("%+v: %v, want what ended the context: %v", x, err, ctx.Err())
		}
	}
}

// overruns are how late calls were.
type overruns struct {
	mu    sync.Mutex
	all   []time.Duration
	worst combination
}

func (o *overruns) add(x combination, late time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) == 0 || late > slices.Max(o.all) {
		o.worst = x
	}
	o.all = append(o.all, late)
}

func (o *overruns) report(t *testing.T) {
	t.Helper()
	slices.Sort(o.all)
	n := len(o.all)
	t.Logf("combinations: %d; late by %v at p99, by %v at worst (%+v)", n, o.all[n*99/100], o.all[n-1], o.worst)
}

func TestHostilePartnersEndNoCallLateInABubble(t *testing.T) {
	var late overruns
	for _, x := range combinations("none", "hands on", "nothing", "drops the answer", "panics afterwards") {
		synctest.Test(t, func(t *testing.T) {
			l := pipenet.Listen()
			by := x.run(t, l, l.Dial, true, func(done func() bool) {
				if synctest.Wait(); !done() {
					<-time.After(hostilePlan.Deadline + glance)
					synctest.Wait()
				}
			})
			<-time.After(time.Minute) // for the server's goroutines, which poll
			if late.add(x, by); by > 0 {
				t.Errorf("%+v: late by %v, want 0s", x, by)
			}
		})
	}
	late.report(t)
}

func TestHostilePartnersEndNoCallLateOnSockets(t *testing.T) {
	before := runtime.NumGoroutine()
	var late overruns
	var wg sync.WaitGroup
	room := make(chan struct{}, 16)
	for _, x := range combinations("none") {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Error(err)
				return
			}
			late.add(x, x.run(t, l, func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
			}, false, patient))
		})
	}
	wg.Wait()
	late.report(t)
	patient(func() bool { return runtime.NumGoroutine() <= before+2 })
	if got := runtime.NumGoroutine(); got > before+2 {
		t.Errorf("goroutines = %d, want the %d there were before", got, before)
	}
}

// patient waits for what another goroutine is about to do, within reason.
func patient(done func() bool) {
	for end := time.After(5 * time.Second); !done(); {
		select {
		case <-end:
			return
		case <-time.After(time.Millisecond):
		}
	}
}
