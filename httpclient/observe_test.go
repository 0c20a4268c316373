package httpclient

import (
	"net/http"
	"testing"

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
