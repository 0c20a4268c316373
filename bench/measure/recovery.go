package measure

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// Recovery is how long a stack and its upstream need to be well again after the
// upstream was slow for a while.
type Recovery struct {
	Name    string  `json:"name"`
	Bump    float64 `json:"bumpSeconds"`
	During  float64 `json:"goodInTheBump"` // share of the calls answered in time
	Backlog int64   `json:"backlog"`       // requests at the upstream when the bump ended
	Seconds float64 `json:"seconds"`       // until 95 % are answered in time for a second; -1: not while it was watched
	Watched float64 `json:"watchedSeconds"`
	PerCall float64 `json:"requestsPerCall"` // from the start of the bump
}

// Bump is an upstream with so many workers, each busy for so long with a request,
// whether its caller is still there or not, as most handlers are. Its work takes
// longer for a while.
type Bump struct {
	Workers    int
	Queue      int64 // of requests that wait for a worker; more are answered 503
	Work, Slow time.Duration
	Rate       float64 // calls a second
	Sizes      peers.Sizes
	Lasts      time.Duration
	Watch      time.Duration // afterwards
}

// Metastable carries 500 calls a second and is offered 350. When it is slow it
// carries 50. Its backlog is out of date as soon as it is longer than 100.
var Metastable = Bump{
	Workers: 10, Queue: 5000, Work: 20 * time.Millisecond, Slow: 200 * time.Millisecond,
	Rate:  350,
	Sizes: peers.Sizes{InFlight: 20, Deadline: time.Second, Attempt: 250 * time.Millisecond},
	Lasts: 2 * time.Minute, Watch: time.Minute,
}

// Recoveries offers a stack a steady load before, in and after the bump.
func (b Bump) Recoveries(stack peers.HTTP) (Recovery, error) {
	var slow atomic.Bool
	var waiting atomic.Int64
	workers := make(chan struct{}, b.Workers)
	over := make(chan struct{}) // nobody works through what is left
	u := newUpstream(func(w http.ResponseWriter, _ *http.Request) {
		defer waiting.Add(-1)
		if waiting.Add(1) > b.Queue {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		select {
		case workers <- struct{}{}:
		case <-over:
			return
		}
		d := b.Work
		if slow.Load() {
			d = b.Slow
		}
		time.Sleep(d)
		<-workers
		io.WriteString(w, "ok")
	})
	u.Start()
	defer u.Close()
	defer close(over)
	client, err := u.setUp(stack, u.URL, b.Sizes)
	if err != nil {
		return Recovery{}, err
	}
	defer client.Stop()

	t := traffic{do: client.Do, url: u.URL, rate: b.Rate, deadline: b.Sizes.Deadline}
	t.offer(time.Second) // so that the pool stands
	t.wait()             // or the last of their requests would be counted with those of the bump
	began, requests := time.Now(), u.requests.Load()
	slow.Store(true)
	t.offer(b.Lasts)
	slow.Store(false)
	ended := time.Now()
	r := Recovery{Name: stack.Name, Bump: b.Lasts.Seconds(), Backlog: waiting.Load(), Watched: b.Watch.Seconds()}
	for r.Seconds = never; r.Seconds == never && time.Since(ended) < b.Watch+b.settle(); {
		t.offer(100 * time.Millisecond)
		r.Seconds = b.recovered(t.since(ended), ended, time.Now())
	}
	t.wait()
	bump := t.since(began)
	r.During = goodShare(bump, began, ended)
	r.PerCall = float64(u.requests.Load()-requests) / float64(len(bump))
	return r, nil
}

// settle is how long after its start a call has ended for sure, and a second.
func (b Bump) settle() time.Duration { return time.Second + b.Sizes.Deadline + b.Sizes.Deadline/4 }

// recovered is how many seconds after the end of a bump the first second began in
// which 95 % of the calls were good; never if none has by now.
func (b Bump) recovered(calls []call, ended, now time.Time) float64 {
	for from := ended; !from.Add(b.settle()).After(now); from = from.Add(50 * time.Millisecond) {
		if goodShare(calls, from, from.Add(time.Second)) >= 0.95 {
			return from.Sub(ended).Seconds()
		}
	}
	return never
}

// goodShare is the share of good ones among the calls that began within a time.
func goodShare(calls []call, from, to time.Time) float64 {
	var all, good float64
	for _, c := range calls {
		if c.began.Before(from) || !c.began.Before(to) {
			continue
		}
		all++
		if c.good {
			good++
		}
	}
	return good / max(all, 1)
}
