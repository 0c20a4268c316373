package httpclient

import (
	"math"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

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
