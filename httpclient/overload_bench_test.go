package httpclient

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

// The overload of BenchmarkOverload: twice what the connections can carry.
const (
	overloadConns    = 10
	overloadWork     = 20 * time.Millisecond
	overloadRate     = 1000 // per second
	overloadDeadline = 200 * time.Millisecond
	overloadTime     = 2 * time.Second
)

// tally is how the calls of one run ended.
type tally struct{ done, refused, late atomic.Int64 }

func (s *tally) call(c *http.Client, url string) {
	ctx, cancel := context.WithTimeout(context.Background(), overloadDeadline)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", url, nil)
	resp, err := c.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	switch {
	case err == nil:
		s.done.Add(1)
	case errors.Is(err, offtake.ErrBusy):
		s.refused.Add(1)
	default:
		s.late.Add(1)
	}
}

// BenchmarkOverload offers twice the calls that ten connections can carry, each
// with a deadline that leaves time for ten in a row. "capacity" is what the same
// connections carry when just ten callers call one after the other; goodput is to
// be compared with it.
func BenchmarkOverload(b *testing.B) {
	var dials atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-time.After(overloadWork)
		io.WriteString(w, "ok")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			dials.Add(1)
		}
	}
	server.StartTLS()
	defer server.Close()
	base := func() *http.Transport {
		t := server.Client().Transport.(*http.Transport).Clone()
		t.ForceAttemptHTTP2 = false
		t.MaxConnsPerHost, t.MaxIdleConnsPerHost = overloadConns, overloadConns
		return t
	}
	own := func(b *testing.B) *Client {
		plan := capacity.Plan{InFlight: overloadConns, Deadline: time.Second, Attempts: capacity.NoRetry}
		c, err := New(server.URL, plan, &Options{Registerer: prometheus.NewRegistry(), Base: base()})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		if err := c.Warm(b.Context()); err != nil {
			b.Fatal(err)
		}
		return c
	}
	b.Run("capacity", func(b *testing.B) { run(b, own(b).Client, server.URL, &dials, closedLoop) })
	b.Run("bare", func(b *testing.B) { run(b, &http.Client{Transport: base()}, server.URL, &dials, openLoop) })
	b.Run("offtake", func(b *testing.B) { run(b, own(b).Client, server.URL, &dials, openLoop) })
}

// run has one run of the load in each iteration, and reports it.
func run(b *testing.B, c *http.Client, url string, dials *atomic.Int64, load func(*tally, *http.Client, string)) {
	var s tally
	before := dials.Load()
	for b.Loop() {
		load(&s, c, url)
	}
	seconds := overloadTime.Seconds() * float64(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(s.done.Load())/seconds, "goodput/s")
	b.ReportMetric(float64(s.refused.Load())/seconds, "refused/s")
	b.ReportMetric(float64(s.late.Load())/seconds, "timeouts/s")
	b.ReportMetric(float64(dials.Load()-before)/float64(b.N), "dials")
	c.CloseIdleConnections()
}

func closedLoop(s *tally, c *http.Client, url string) {
	var wg sync.WaitGroup
	end := time.Now().Add(overloadTime)
	for range overloadConns {
		wg.Go(func() {
			for time.Now().Before(end) {
				s.call(c, url)
			}
		})
	}
	wg.Wait()
}

func openLoop(s *tally, c *http.Client, url string) {
	var wg sync.WaitGroup
	tick := time.NewTicker(time.Second / overloadRate)
	defer tick.Stop()
	began, sent := time.Now(), 0
	for time.Since(began) < overloadTime {
		<-tick.C
		for due := int(time.Since(began).Seconds() * overloadRate); sent < due; sent++ {
			wg.Go(func() { s.call(c, url) })
		}
	}
	wg.Wait()
}
