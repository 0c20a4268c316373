package check_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/capacity/simulate/scenario"
	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// traffic is a contract that states the traffic of one upstream and leaves every size
// to the plan.
func traffic(rng *rand.Rand) string {
	oneOf := func(of ...string) string { return of[rng.IntN(len(of))] }
	replicas := 1 + rng.IntN(8)
	rate := []float64{0.5, 3, 20, 120, 900}[rng.IntN(5)] * (0.5 + rng.Float64())
	mean := time.Duration((0.5 + rng.Float64()) * float64([]time.Duration{2, 20, 100, 400}[rng.IntN(4)]) * float64(time.Millisecond))
	latency, protocol := fmt.Sprintf("latency: %v", mean), oneOf("http1", "http2")
	load, slower := rate*mean.Seconds()/float64(replicas), 3+2*rng.Float64()
	degraded := fmt.Sprintf("degraded: %v", time.Duration(float64(mean)*slower))
	var more []string
	switch rng.IntN(4) {
	case 0:
	case 1:
		latency = fmt.Sprintf("p50: %v, p99: %v", mean, time.Duration(float64(mean)*(1.5+3*rng.Float64())))
	case 2: // a limit of plenty, as long as it can be divided
		more = append(more, degraded, fmt.Sprintf("limit: %d", replicas*int(2+load*(2+10*rng.Float64()))))
	case 3: // just enough for what is promised, and hardly for a retry
		protocol = "http1"
		more = append(more, degraded, fmt.Sprintf("limit: %d", replicas*int(1+load*slower*(1+0.2*rng.Float64()))))
	}
	if rng.IntN(3) == 0 {
		more = append(more, fmt.Sprintf("headroom: %.2f", 1.3+rng.Float64()))
	}
	return fmt.Sprintf("service: gateway\nreplicas: {min: %d}\ncallers: {shop: {rate: 1/s, deadline: %s}}\nupstreams:\n  orders: {target: 'http://orders', rate: %.2f/s, %s, protocol: %s, idempotent: %s, %s}\n",
		replicas, oneOf("3s", "8s", "20s"), rate, latency, protocol, oneOf("true", "false"), strings.Join(more, ", "))
}

// TestWhatAPlanDerivesAloneIsAccepted holds the three together: what is derived from
// the traffic alone, the rules accept, and the experiment with it refuses no more
// than the plan promises.
func TestWhatAPlanDerivesAloneIsAccepted(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	planned, played := 0, 0
	for range 600 {
		text := traffic(rng)
		c, err := contract.Parse("offtake.yaml", []byte(text), "")
		if err != nil {
			continue // such as a mean that no deadline has room for
		}
		plan, err := c.Plan("orders")
		if err != nil {
			continue
		}
		planned++
		r := check.NewWorld(c, manifest.Parse("none.yaml", nil), check.Options{Now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}).Check(check.Baseline{})
		for _, f := range r.Findings {
			if f.Severity == check.Error {
				t.Errorf("check of\n%swith %v = %s %s: %s", text, plan, f.Rule, f.Title, f.Evidence)
			}
		}
		if float64(c.Upstreams["orders"].Rate) > 200 {
			continue // as true there, and slow
		}
		played++
		refused := playedRefused(t, c)
		d := c.Demand("orders")
		promised := capacity.ErlangC(plan.InFlight, plan.Rate*plan.Latency.Seconds())
		if refused > promised+0.002 {
			t.Errorf("simulate of\n%swith %v and demand %+v refuses %.4f, want no more than the %.4f that may have to wait", text, plan, d, refused, promised)
		}
	}
	if planned < 300 || played < 150 {
		t.Errorf("%d of 600 contracts have a plan and %d were played, want half and a quarter", planned, played)
	}
}

// playedRefused is the share of requests that find no place at peak.
func playedRefused(t *testing.T, c *contract.Contract) float64 {
	t.Helper()
	s, err := scenario.Of(c, "orders")
	if err != nil {
		t.Fatal(err)
	}
	s.Duration = 2 * time.Minute
	r, err := simulate.Run(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return float64(r.GatesRefused) / float64(max(r.Requests.Ended, 1))
}
