package measure

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// HungDial is what a stack did while nothing answered its dials, and afterwards.
type HungDial struct {
	Name    string  `json:"name"`
	Calls   int     `json:"calls"`
	Longest float64 `json:"longestCallMilliseconds"`
	Hanging int     `json:"dialsHangingAtOnce"`   // at the most
	Back    float64 `json:"secondsUntilAnswered"` // from when the address answers again; -1: not while it was watched
	Watched float64 `json:"watchedSeconds"`
}

// DeadEnd is an address that does not answer for a while.
type DeadEnd struct {
	Sizes peers.Sizes
	Rate  float64 // calls a second
	Lasts time.Duration
	Watch time.Duration // afterwards
}

// Cable is pulled for 3.5 s.
var Cable = DeadEnd{Sizes: peers.Sizes{InFlight: 4, Deadline: 500 * time.Millisecond}, Rate: 20, Lasts: 3500 * time.Millisecond, Watch: 6 * time.Second}

// All measures all stacks at the same time: they wait, and use no CPU to speak of.
func (d DeadEnd) All(stacks []peers.HTTP) ([]HungDial, error) { return each(stacks, d.HungDials) }

// HungDials offers a stack calls that have nobody to go to.
func (d DeadEnd) HungDials(stack peers.HTTP) (HungDial, error) {
	hole, err := dig(1, 0)
	if err != nil {
		return HungDial{}, err
	}
	defer hole.close()
	u := newUpstream(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	u.Listener.Close()
	url := fmt.Sprintf("http://127.0.0.1:%d", hole.port)
	client, err := u.setUp(stack, url, d.Sizes)
	if err != nil {
		return HungDial{}, err
	}
	defer client.Stop()
	t := traffic{do: client.Do, url: url, rate: d.Rate, deadline: d.Sizes.Deadline}
	h := HungDial{Name: stack.Name, Back: never, Watched: d.Watch.Seconds()}
	for start := time.Now(); time.Since(start) < d.Lasts; {
		t.offer(50 * time.Millisecond)
		n, err := hole.hanging()
		if err != nil {
			return h, err
		}
		h.Hanging = max(h.Hanging, n)
	}
	if u.Listener, err = hole.fill(); err != nil {
		return h, err
	}
	u.Start()
	defer u.Close()
	healed := time.Now()
	for h.Back == never && time.Since(healed) < d.Watch {
		t.offer(50 * time.Millisecond)
		for _, c := range t.since(healed) {
			if answered := c.began.Add(c.took).Sub(healed).Seconds(); c.good && (h.Back == never || answered < h.Back) {
				h.Back = answered
			}
		}
	}
	for _, c := range t.wait() {
		if c.began.Before(healed) {
			h.Calls++
			h.Longest = max(h.Longest, milliseconds(c.took))
		}
	}
	return h, nil
}
