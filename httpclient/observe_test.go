package httpclient

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestObserveModeCountsEveryDecisionAndAppliesNone(t *testing.T) {
	var requests []*http.Request
	plan := capacity.Plan{InFlight: 2, Queue: 1, Attempts: 3, RetryShare: .1}
	bubble(t, plan, &Options{Observe: true, MaxBody: 4}, replies(&requests, nil, 503), func(t *testing.T, c *Client) {
		together(t, c, 10)
		if got := len(requests); got != 30 {
			t.Errorf("requests for 10 calls = %d, want 30: the budget is only watched", got)
		}
		for _, s := range samples(t, c) {
			switch {
			case s.name == "refused_total" && s.labels["observed"] == "false" && s.value != 0,
				s.name == "limited_total" && s.labels["observed"] == "false" && s.value != 0:
				t.Errorf("%s%v = %v, want none applied", s.name, s.labels, s.value)
			}
		}
		for limit, least := range map[string]float64{"retry_budget": 17, "body": 10} {
			if got := count(t, c, "limited_total", limit); got < least {
				t.Errorf("observed %s = %v, want %v", limit, got, least)
			}
		}
		if got := count(t, c, "refused_total", "queue_full"); got == 0 {
			t.Error("observed refusals = 0, want some")
		}
		if !c.Stats().Observing {
			t.Error("Stats().Observing = false, want true")
		}
		c.Observe(false)
		requests = nil
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := len(requests); got != 1 {
			t.Errorf("requests after observing = %d, want 1: the budget is spent", got)
		}
	})
}

func TestPlacesThatTheTrafficNeedsAreMeasured(t *testing.T) {
	plan := capacity.Plan{InFlight: 50}
	bubble(t, plan, nil, slow(200*time.Millisecond), func(t *testing.T, c *Client) {
		for range 1200 { // 20 calls a second for a minute
			go together(t, c, 1)
			<-time.After(50 * time.Millisecond)
		}
		s := c.Stats()
		if math.Abs(s.Required-4) > .2 || math.Abs(s.Rate-20) > .5 || s.Hold != 200*time.Millisecond {
			t.Errorf("required, rate, hold = %.2f, %.2f, %v, want 4, 20, 200ms", s.Required, s.Rate, s.Hold)
		}
		if got := count(t, c, "required_places", ""); math.Abs(got-4) > .2 {
			t.Errorf("required_places = %.2f, want 4", got)
		}
		<-time.After(time.Second)
	})
}

func TestResizeTakesEffectAtOnceAndKeepsWarmConnections(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 4, Queue: 8, Wait: time.Second}, nil, slow(100*time.Millisecond), func(t *testing.T, c *Client) {
		together(t, c, 4)
		if err := c.Resize(capacity.Plan{InFlight: 8, Queue: 8}); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		together(t, c, 8)
		if got := time.Since(start); got != 100*time.Millisecond {
			t.Errorf("8 calls after Resize took %v, want 100ms", got)
		}
		wantCount(t, c, "dials_total", "", 8)
		if err := c.Resize(capacity.Plan{InFlight: 2, Queue: 8, Wait: time.Second}); err != nil {
			t.Fatal(err)
		}
		start = time.Now()
		together(t, c, 8)
		if got := time.Since(start); got != 400*time.Millisecond {
			t.Errorf("8 calls with 2 places took %v, want 400ms", got)
		}
		if got := c.Stats().Open; got > 2 {
			t.Errorf("connections = %d, want 2 at the most", got)
		}
	})
}
