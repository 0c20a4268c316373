package measure

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// FirstBurst is how long a crowd of calls takes that come at once to a new
// process.
type FirstBurst struct {
	Name      string `json:"name"`
	Calls     int    `json:"calls"`
	Cold      Burst  `json:"cold"`
	AfterOne  Burst  `json:"afterOneCall"` // which is what a health check amounts to
	Warmed    *Burst `json:"warmed"`       // by what the stack has for that; nil if it has nothing
	Handshake int    `json:"handshakeMilliseconds"`
}

// Burst is one crowd.
type Burst struct {
	Median float64 `json:"medianMilliseconds"`
	Last   float64 `json:"lastMilliseconds"`
	Dials  int64   `json:"dials"` // that the crowd had to wait for
	Failed int     `json:"failed"`
}

// Distant is an upstream whose handshakes take as long as over a distance.
type Distant struct {
	Handshake time.Duration
	Work      time.Duration
	Calls     int
	Deadline  time.Duration
}

// Overseas is 50 ms away.
var Overseas = Distant{Handshake: 50 * time.Millisecond, Work: 20 * time.Millisecond, Calls: 32, Deadline: 5 * time.Second}

// FirstBursts sends a crowd to a new client that is cold, has made one call, or is
// warm, each with an upstream of its own.
func (d Distant) FirstBursts(stack peers.HTTP) (FirstBurst, error) {
	f := FirstBurst{Name: stack.Name, Calls: d.Calls, Handshake: int(d.Handshake.Milliseconds())}
	var err error
	if f.Cold, _, err = d.burst(stack, func(*peers.Client, string) error { return nil }); err != nil {
		return f, err
	}
	var can bool
	if f.AfterOne, can, err = d.burst(stack, func(c *peers.Client, url string) error {
		_, err := c.Do(context.Background(), url)
		return err
	}); err != nil || !can {
		return f, err
	}
	f.Warmed = new(Burst)
	*f.Warmed, _, err = d.burst(stack, func(c *peers.Client, _ string) error { return c.Warm(context.Background()) })
	return f, err
}

func (d Distant) burst(stack peers.HTTP, before func(*peers.Client, string) error) (b Burst, warms bool, err error) {
	u := newUpstream(func(w http.ResponseWriter, r *http.Request) {
		work(r, d.Work)
		io.WriteString(w, "ok")
	})
	u.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		time.Sleep(d.Handshake) // the distance
		return nil, nil
	}}
	u.StartTLS()
	defer u.Close()
	client, err := u.setUp(stack, u.URL, peers.Sizes{InFlight: d.Calls, Deadline: d.Deadline})
	if err != nil {
		return Burst{}, false, err
	}
	defer client.Stop()
	if err := before(client, u.URL); err != nil {
		return Burst{}, false, fmt.Errorf("%s: before the burst: %w", stack.Name, err)
	}
	dials := u.dials.Load()
	took := make([]time.Duration, d.Calls)
	failed := make([]bool, d.Calls)
	var calls sync.WaitGroup
	start := time.Now()
	for i := range took {
		calls.Go(func() {
			status, err := client.Do(context.Background(), u.URL)
			took[i], failed[i] = time.Since(start), err != nil || status != http.StatusOK
		})
	}
	calls.Wait()
	slices.Sort(took)
	b = Burst{Median: milliseconds(took[len(took)/2]), Last: milliseconds(took[len(took)-1]), Dials: u.dials.Load() - dials}
	for _, f := range failed {
		if f {
			b.Failed++
		}
	}
	return b, client.Warm != nil, nil
}
