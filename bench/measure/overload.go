package measure

import (
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// Overload is what a stack did with more or fewer calls than its connections
// carry.
type Overload struct {
	Name    string  `json:"name"`
	Offered float64 `json:"offered"` // multiple of the capacity
	Goodput float64 `json:"goodput"` // rate completed in time, as a share of the capacity, or of what was offered if that is less
	P99     float64 `json:"p99Milliseconds"`
	Dials   int64   `json:"dials"`           // during the load
	Wasted  int64   `json:"wasted"`          // requests that the upstream worked on for nobody
	PerCall float64 `json:"requestsPerCall"` // at the upstream
}

// Bottleneck is an upstream that so many connections can reach, each busy for so
// long with a call. Its capacity is what that many callers get from it, each with one
// call after the other: on a machine that is busy itself it is less than the quotient
// of the two.
type Bottleneck struct {
	Connections int
	Work        time.Duration
	Deadline    time.Duration // of each caller
	During      time.Duration // of each load
}

// Usual carries 500 calls a second.
var Usual = Bottleneck{Connections: 10, Work: 20 * time.Millisecond, Deadline: 200 * time.Millisecond, During: 3 * time.Second}

// Overloads offers a stack several multiples of the capacity, one after the
// other, each to a new upstream and client.
func (b Bottleneck) Overloads(stack peers.HTTP, offered ...float64) ([]Overload, error) {
	var all []Overload
	for _, x := range offered {
		o, err := b.overload(stack, x)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", stack.Name, err)
		}
		all = append(all, o)
	}
	return all, nil
}

func (b Bottleneck) overload(stack peers.HTTP, offered float64) (Overload, error) {
	u := serve(func(w http.ResponseWriter, r *http.Request) {
		work(r, b.Work)
		io.WriteString(w, "ok")
	})
	defer u.Close()
	base := u.transport(b.Connections)
	defer base.CloseIdleConnections()
	client, err := stack.New(base, nil, u.URL, peers.Sizes{InFlight: b.Connections, Deadline: b.Deadline})
	if err != nil {
		return Overload{}, err
	}
	defer client.Stop()
	capacity := b.capacity(base, u.URL)
	load(client.Do, u.URL, capacity/2, time.Second/2, b.Deadline) // so that the pool stands
	u.idle()
	dials, requests, wasted := u.dials.Load(), u.requests.Load(), u.wasted.Load()
	t := traffic{do: client.Do, url: u.URL, rate: capacity * offered, deadline: b.Deadline}
	start := time.Now()
	t.offer(b.During)
	calls := t.wait()
	u.idle()
	o := sum(calls)
	return Overload{
		Name:    stack.Name,
		Offered: offered,
		Goodput: goodput(b.rate(calls, start), capacity, offered),
		P99:     milliseconds(o.percentile(0.99)),
		Dials:   u.dials.Load() - dials,
		Wasted:  u.wasted.Load() - wasted,
		PerCall: float64(u.requests.Load()-requests) / float64(o.calls),
	}, nil
}

// goodput is a rate as a share of the capacity, or of what was offered if that is
// less.
func goodput(rate, capacity, offered float64) float64 { return rate / (capacity * min(1, offered)) }

// capacity is measured, in calls a second, with nothing but the transport between.
func (b Bottleneck) capacity(base *http.Transport, url string) float64 {
	client := &http.Client{Transport: base}
	b.crowd(client, url, time.Now()) // connects
	start := time.Now()
	answered := b.crowd(client, url, start.Add(time.Second/2))
	return float64(answered) / time.Since(start).Seconds()
}

// crowd has as many callers as there are connections call, each once at least, until
// a time. It returns how many calls were answered.
func (b Bottleneck) crowd(client *http.Client, url string, until time.Time) int64 {
	var callers sync.WaitGroup
	var answered atomic.Int64
	for range b.Connections {
		callers.Go(func() {
			for again := true; again; again = time.Now().Before(until) {
				if resp, err := client.Get(url); err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					answered.Add(1)
				}
			}
		})
	}
	callers.Wait()
	return answered.Load()
}

// rate is how many calls a second were completed in time, once each queue had had
// the time to fill, and until the load ended: counting what a queue gives off
// afterwards would praise the long ones, by more than 100 %.
func (b Bottleneck) rate(calls []call, start time.Time) float64 {
	from, to := start.Add(b.Deadline), start.Add(b.During)
	completed := 0
	for _, c := range calls {
		if end := c.began.Add(c.took); c.good && end.After(from) && end.Before(to) {
			completed++
		}
	}
	return float64(completed) / to.Sub(from).Seconds()
}
