package measure

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// Overload is what a stack did with more or fewer calls than its connections
// carry.
type Overload struct {
	Name    string  `json:"name"`
	Offered float64 `json:"offered"` // multiple of the capacity
	Goodput float64 `json:"goodput"` // completed in time, as a share of the capacity, or of what was offered if that is less
	P99     float64 `json:"p99Milliseconds"`
	Dials   int64   `json:"dials"`           // during the load
	Wasted  int64   `json:"wasted"`          // requests that the upstream worked on for nobody
	PerCall float64 `json:"requestsPerCall"` // at the upstream
}

// Bottleneck is an upstream that so many connections can reach, each busy for so
// long with a call.
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
	capacity := float64(b.Connections) / b.Work.Seconds()
	load(client.Do, u.URL, capacity/2, time.Second/2, b.Deadline) // so that the pool stands
	dials, requests, wasted := u.dials.Load(), u.requests.Load(), u.wasted.Load()
	o := load(client.Do, u.URL, capacity*offered, b.During, b.Deadline)
	return Overload{
		Name:    stack.Name,
		Offered: offered,
		Goodput: float64(o.good) / b.During.Seconds() / (capacity * min(1, offered)),
		P99:     milliseconds(o.percentile(0.99)),
		Dials:   u.dials.Load() - dials,
		Wasted:  u.wasted.Load() - wasted,
		PerCall: float64(u.requests.Load()-requests) / float64(o.calls),
	}, nil
}
