package measure

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// Leak is what became of the calls after a caller had forgotten to close as many
// bodies as there are connections.
type Leak struct {
	Name      string  `json:"name"`
	Forgotten int     `json:"forgotten"`
	Calls     int     `json:"calls"`                // soon after
	Answered  int     `json:"answered"`             // of these
	Back      float64 `json:"secondsUntilAnswered"` // from when the last body was forgotten; -1: not while it was watched
	Open      int64   `json:"connectionsAtTheEnd"`  // with one call at a time under way
	Watched   float64 `json:"watchedSeconds"`
}

// Forgetful is a caller that leaves bodies open, and others after it.
type Forgetful struct {
	Sizes    peers.Sizes
	Patience time.Duration // of each later caller
	First    time.Duration // the calls of which are counted
	Watch    time.Duration // for the first answer, if that is longer
}

// Scatterbrain forgets as many bodies as there are places, with a context that
// never ends.
var Scatterbrain = Forgetful{Sizes: peers.Sizes{InFlight: 16, Deadline: time.Second}, Patience: 500 * time.Millisecond, First: 2 * time.Second, Watch: 8 * time.Second}

// All measures all stacks at the same time: they wait, and use no CPU to speak of.
func (f Forgetful) All(stacks []peers.HTTP) ([]Leak, error) { return each(stacks, f.Leaks) }

// Leaks forgets bodies, and calls on.
func (f Forgetful) Leaks(stack peers.HTTP) (Leak, error) {
	u := newUpstream(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ok": true}`)
	})
	u.Start()
	defer u.Close()
	client, err := u.setUp(stack, u.URL, f.Sizes)
	if err != nil {
		return Leak{}, err
	}
	defer client.Stop()
	l := Leak{Name: stack.Name, Forgotten: f.Sizes.InFlight, Back: never, Watched: f.Watch.Seconds()}
	for range f.Sizes.InFlight {
		if _, err := client.Forget(context.Background(), u.URL); err != nil {
			return l, err
		}
	}
	t := traffic{do: client.Do, url: u.URL, rate: 10, deadline: f.Patience}
	start := time.Now()
	for l.Back == never && time.Since(start) < f.Watch || time.Since(start) < f.First {
		t.offer(50 * time.Millisecond)
		for _, c := range t.since(start) {
			if answered := c.began.Add(c.took).Sub(start).Seconds(); c.good && (l.Back == never || answered < l.Back) {
				l.Back = answered
			}
		}
	}
	for _, c := range t.wait() {
		if c.began.Sub(start) < f.First {
			l.Calls++
			if c.good {
				l.Answered++
			}
		}
	}
	l.Open = u.open.Load()
	return l, nil
}
