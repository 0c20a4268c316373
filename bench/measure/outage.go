package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// Outage is how many requests reach an upstream that answers 503 to all, for each
// call at the top.
type Outage struct {
	Name   string  `json:"name"`
	One    float64 `json:"oneLayer"`
	Three  float64 `json:"threeLayers"`
	Calls  int     `json:"calls"`
	Before int     `json:"goodCallsBefore"`    // that may have filled a budget
	Hung   int     `json:"callsWithoutAnswer"` // of those at the top, in both: their patience was at its end
}

// patience of the caller at the top. Some layers never answer: they leave the
// bodies of repeated attempts open, and their pools run dry.
const patience = 10 * time.Second

// Outages sends calls through one and through three layers of a stack, each of
// which would send a call three times.
func Outages(stack peers.HTTP, calls int) (Outage, error) {
	o := Outage{Name: stack.Name, Calls: calls, Before: calls}
	var err error
	var one, three int
	if o.One, one, err = outage(stack, 1, calls, patience); err == nil {
		o.Three, three, err = outage(stack, 3, calls, patience)
	}
	o.Hung = one + three
	return o, err
}

func outage(stack peers.HTTP, layers, calls int, patience time.Duration) (perCall float64, hung int, err error) {
	var down atomic.Bool
	u := serve(func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	defer u.Close()
	url := u.URL
	for range layers {
		base := u.transport(64) // the certificate is good for all test servers
		defer base.CloseIdleConnections()
		client, err := stack.New(base, nil, url, peers.Sizes{InFlight: 64, Deadline: 5 * time.Second})
		if err != nil {
			return 0, 0, err
		}
		defer client.Stop()
		layer := relay(client.Do, url)
		defer layer.Close()
		url = layer.URL
	}
	top, err := bare(u, url)
	if err != nil {
		return 0, 0, err
	}
	defer top.Stop()
	run := func() (hung int) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var atOnce sync.WaitGroup
		var unanswered atomic.Int64
		for range calls {
			atOnce.Go(func() {
				if _, err := top.Do(ctx, url); err != nil {
					unanswered.Add(1)
				}
			})
		}
		atOnce.Wait()
		return int(unanswered.Load())
	}
	run()
	down.Store(true)
	before := u.requests.Load()
	hung = run()
	return float64(u.requests.Load()-before) / float64(calls), hung, nil
}

// bare is the caller at the top, who sends each call once.
func bare(u *upstream, url string) (*peers.Client, error) {
	return peers.HTTPStacks()[0].New(u.transport(64), nil, url, peers.Sizes{InFlight: 64, Deadline: time.Minute})
}

// relay is a service that answers with what its own upstream says.
func relay(do peers.Do, url string) *httptest.Server {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := do(r.Context(), url)
		if err != nil {
			status = http.StatusServiceUnavailable
		}
		w.WriteHeader(status)
		io.WriteString(w, fmt.Sprint(status))
	}))
	server.Config.ErrorLog = silent
	server.StartTLS()
	return server
}
