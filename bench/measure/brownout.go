package measure

import (
	"io"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// BrownOut is what a stack did while its upstream left some requests hanging, and
// answered the others as always.
type BrownOut struct {
	Name    string  `json:"name"`
	Calls   int     `json:"calls"`
	Good    float64 `json:"good"`  // share of the calls that were answered in time
	Hung    int64   `json:"hung"`  // requests that the upstream left hanging
	Dials   int64   `json:"dials"` // no fewer than hung: a connection that hangs is lost to HTTP/1.1
	PerCall float64 `json:"requestsPerCall"`
}

// PartlySlow is an upstream that leaves every so manieth request hanging.
type PartlySlow struct {
	Every  int64 // 0 is none
	Work   time.Duration
	Rate   float64 // calls a second
	Sizes  peers.Sizes
	During time.Duration
}

// Flickering leaves every tenth hanging. Without that, 4 of its 20 places are busy;
// with it, 8.
var Flickering = PartlySlow{Every: 10, Work: 20 * time.Millisecond, Rate: 200, During: 3 * time.Second,
	Sizes: peers.Sizes{InFlight: 20, Deadline: 200 * time.Millisecond, Attempt: 60 * time.Millisecond}}

// BrownOuts offers a stack a steady load, first to a sound upstream.
func (p PartlySlow) BrownOuts(stack peers.HTTP) (BrownOut, error) {
	var hung counted
	u := serve(func(w http.ResponseWriter, r *http.Request) {
		if hung.next(p.Every) {
			work(r, time.Minute)
			return
		}
		work(r, p.Work)
		io.WriteString(w, "ok")
	})
	defer u.Close()
	client, err := u.setUp(stack, u.URL, p.Sizes)
	if err != nil {
		return BrownOut{}, err
	}
	defer client.Stop()
	load(client.Do, u.URL, p.Rate, time.Second, p.Sizes.Deadline) // so that the pool stands
	u.idle()
	dials, requests := u.dials.Load(), u.requests.Load()
	hung.on.Store(true)
	o := load(client.Do, u.URL, p.Rate, p.During, p.Sizes.Deadline)
	u.idle()
	return BrownOut{
		Name: stack.Name, Calls: o.calls, Good: float64(o.good) / float64(o.calls), Hung: hung.hits.Load(),
		Dials: u.dials.Load() - dials, PerCall: float64(u.requests.Load()-requests) / float64(o.calls),
	}, nil
}
