package measure

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// upstream is a server that counts what reaches it.
type upstream struct {
	*httptest.Server
	dials    atomic.Int64
	open     atomic.Int64 // connections
	requests atomic.Int64
	wasted   atomic.Int64 // its caller left before it was done
	running  atomic.Int64 // requests at this moment
}

// silent takes what servers log: handshakes that end in the middle are the point.
var silent = log.New(io.Discard, "", 0)

// serve starts an upstream over TLS. Handle answers, after it was counted.
func serve(handle http.HandlerFunc) *upstream {
	u := newUpstream(handle)
	u.StartTLS()
	return u
}

// newUpstream makes an upstream that is still to be started.
func newUpstream(handle http.HandlerFunc) *upstream {
	u := new(upstream)
	u.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u.requests.Add(1)
		u.running.Add(1)
		defer u.running.Add(-1)
		handle(w, r)
		if r.Context().Err() != nil {
			u.wasted.Add(1)
		}
	}))
	u.Config.ErrorLog = silent
	u.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			u.dials.Add(1)
			u.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			u.open.Add(-1)
		}
	}
	return u
}

// idle waits until no request is under way. It is for before a counter is read: what
// a caller has given up ends a little later here.
func (u *upstream) idle() {
	for u.running.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
}

// transport is what a careful user of net/http would make for so many calls at
// once.
func (u *upstream) transport(connections int) *http.Transport {
	return &http.Transport{
		TLSClientConfig:     u.trust(),
		MaxConnsPerHost:     connections,
		MaxIdleConnsPerHost: connections,
		DisableCompression:  true,
	}
}

// trust is a configuration that knows the upstream's certificate.
func (u *upstream) trust() *tls.Config {
	if u.TLS == nil {
		return nil // it does without
	}
	return u.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
}

// setUp is a stack as its documentation has it: on the default transport, with as
// many idle connections as there are calls. Only who read on has MaxConnsPerHost.
func (u *upstream) setUp(stack peers.HTTP, url string, sizes peers.Sizes) (*peers.Client, error) {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Proxy, base.TLSClientConfig, base.MaxIdleConnsPerHost = nil, u.trust(), sizes.InFlight
	if stack.Bounded {
		base.MaxConnsPerHost = sizes.InFlight
	}
	client, err := stack.New(base, nil, url, sizes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", stack.Name, err)
	}
	stop := client.Stop
	client.Stop = func() { stop(); base.CloseIdleConnections() }
	return client, nil
}

// work takes so long, or until the caller has left.
func work(r *http.Request, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-r.Context().Done():
	}
}

// outcome is what became of a load.
type outcome struct {
	calls, good int
	latencies   []time.Duration // of the good ones, sorted
}

func (o outcome) percentile(p float64) time.Duration {
	if len(o.latencies) == 0 {
		return 0
	}
	return o.latencies[min(len(o.latencies)-1, int(p*float64(len(o.latencies))))]
}

// load offers calls at a rate, whatever becomes of them, each with a deadline, and
// waits for the last.
func load(do peers.Do, url string, rate float64, during, deadline time.Duration) outcome {
	t := traffic{do: do, url: url, rate: rate, deadline: deadline}
	t.offer(during)
	return sum(t.wait())
}

// traffic is a load that goes on.
type traffic struct {
	do       peers.Do
	url      string
	rate     float64 // calls a second
	deadline time.Duration

	owed  float64 // calls that are due
	calls sync.WaitGroup
	mu    sync.Mutex
	ended []call
}

// call is one that has ended.
type call struct {
	began time.Time
	took  time.Duration
	good  bool
}

// offer offers calls for so long, and waits for none of them. What is due and not
// yet offered at the end is offered by the next.
func (t *traffic) offer(during time.Duration) {
	start := time.Now()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for last := start; last.Sub(start) < during; {
		<-tick.C
		now := time.Now()
		t.owed += t.rate * now.Sub(last).Seconds()
		last = now
		for ; t.owed >= 1; t.owed-- {
			t.calls.Go(t.call)
		}
	}
}

func (t *traffic) call() {
	ctx, cancel := context.WithTimeout(context.Background(), t.deadline)
	defer cancel()
	c := call{began: time.Now()}
	status, err := t.do(ctx, t.url)
	c.took = time.Since(c.began)
	c.good = err == nil && status == http.StatusOK && c.took < t.deadline // net/http may still hand over an answer that came as it closed the connection
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = append(t.ended, c)
}

// wait waits for the last call, and returns all.
func (t *traffic) wait() []call {
	t.calls.Wait()
	return t.since(time.Time{})
}

// since returns the calls that began at a time or later and have ended by now.
func (t *traffic) since(start time.Time) []call {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.ended), func(c call) bool { return c.began.Before(start) })
}

func sum(calls []call) outcome {
	o := outcome{calls: len(calls)}
	for _, c := range calls {
		if c.good {
			o.good++
			o.latencies = append(o.latencies, c.took)
		}
	}
	slices.Sort(o.latencies)
	return o
}

// milliseconds are for people.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// never stands for what did not happen while it was watched.
const never = -1
