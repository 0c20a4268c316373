package simulate

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// A gatewayRun is one row of testdata/gateway.json or metastable.json: a
// simulation of the payment gateway written independently of this package, with
// what it found over 1800 s, or 900 s, after a warm-up.
type gatewayRun struct {
	Name            string       `json:"name"`
	Replicas        int          `json:"replicas"`
	Cap             int          `json:"cap"`
	Queue           int          `json:"queue_max"`
	Limit           int          `json:"up_limit"`
	Rate            float64      `json:"base_rate"`
	Latency         float64      `json:"latency_mean"`
	CV              float64      `json:"latency_cv"`
	ClientTimeout   float64      `json:"client_timeout"`
	CheckoutTimeout float64      `json:"checkout_timeout"`
	Attempts        int          `json:"checkout_attempts"`
	Propagates      bool         `json:"cancel_propagates"`
	TimeoutIsTotal  bool         `json:"checkout_timeout_is_total"`
	LIFO            bool         `json:"lifo"`
	LatencySteps    [][2]float64 `json:"latency_steps"`

	AuthFailed    float64 `json:"auth_fail_share"`
	OrdersFailed  float64 `json:"order_fail_share"`
	Amplification float64 `json:"amplification"`
	Goodput       float64 `json:"goodput_rps"`
	Wasted        float64 `json:"wasted_slot_share"`
	Peak          float64 `json:"peak_upstream_concurrency"`
	P50           float64 `json:"P50"`
	P95           float64 `json:"P95"`
	WaitP95       float64 `json:"queue_wait_p95"`
}

// scaled is a length of measurement under the effort that tests may spend.
func scaled(d time.Duration) time.Duration { return time.Duration(effort * float64(d)) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// settle is how long the row takes to reach its steady state: at a load of exactly
// one, or against a limit of the upstream, that is long.
func (g gatewayRun) settle() time.Duration {
	if demand := g.Rate * g.Latency; demand == float64(g.Replicas*g.Cap) || g.Limit > 0 && demand > float64(g.Limit) {
		return 6 * time.Minute
	}
	return 2 * time.Minute
}

// scenario states the row in this package's words: orders are calls,
// authorizations are requests.
func (g gatewayRun) scenario(settle, duration time.Duration) Scenario {
	s := Scenario{
		Name: g.Name, Settle: settle, Duration: duration,
		Callers: Callers{Rate: Rate(g.Rate), Attempts: g.Attempts, Timeout: seconds(g.CheckoutTimeout), Backoff: 100 * time.Millisecond},
		Proxy:   Proxy{Pick: Random},
		Service: Service{
			Replicas: g.Replicas, Busy: Answer429, StopsWhenAbandoned: g.Propagates,
			Client: Client{
				Pool:     Gate{Places: g.Cap, Queue: Queue(g.Queue), LastIn: g.LIFO},
				Deadline: seconds(g.ClientTimeout),
			},
		},
		Upstream: Upstream{Latency: Latency{Mean: seconds(g.Latency), CV: g.CV}, Limit: g.Limit},
	}
	if g.Queue < 0 {
		s.Service.Client.Pool.Queue = Unbounded
	}
	if g.TimeoutIsTotal {
		s.Callers.Deadline = seconds(g.CheckoutTimeout)
	}
	for _, step := range g.LatencySteps {
		s.Events = append(s.Events, Event{At: seconds(step[0]), Latency: &Latency{Mean: seconds(step[1]), CV: g.CV}})
	}
	return s
}

func readRuns[T any](t *testing.T, file string) []T {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var runs []T
	if err := json.Unmarshal(b, &runs); err != nil {
		t.Fatal(err)
	}
	return runs
}

// compare holds the result of a shorter run against the row. What a call with an
// unfinished attempt counts as differs between the two, by up to 8 s of orders.
func (g gatewayRun) compare(t *testing.T, r *Result) {
	t.Helper()
	within := func(what string, got, want, tolerance float64) {
		t.Helper()
		tolerance /= math.Sqrt(effort)
		if math.Abs(got-want) > tolerance {
			t.Errorf("%s: %s = %.4f, want %.4f ± %.4f", g.Name, what, got, want, tolerance)
		}
	}
	within("share of authorizations that fail", r.Requests.FailedShare, g.AuthFailed, 0.025)
	within("share of orders that fail", r.Calls.FailedShare, g.OrdersFailed, 0.025)
	within("authorizations per order", r.Calls.TriesPerCall, g.Amplification, 0.07)
	within("goodput", r.Requests.Goodput, g.Goodput, 0.03*g.Goodput+1)
	within("p50", r.Requests.Latency.P50.Seconds(), g.P50, 0.03*g.P50+0.05)
	within("p95", r.Requests.Latency.P95.Seconds(), g.P95, 0.08*g.P95+0.03)
	if g.Limit > 0 && r.Requests.InFlightPeak > float64(g.Limit) {
		t.Errorf("%s: in flight = %g, want at most %d", g.Name, r.Requests.InFlightPeak, g.Limit)
	}
}

func TestAgreesWithAnotherSimulationOfTheGateway(t *testing.T) {
	for _, g := range readRuns[gatewayRun](t, "testdata/gateway.json") {
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			g.compare(t, run(t, g.scenario(g.settle(), scaled(10*time.Minute)), 1))
		})
	}
}

// The runs that the incident report leans on are held more tightly.
func TestAgreesOnTheRunsOfTheReport(t *testing.T) {
	rows := readRuns[gatewayRun](t, "testdata/gateway.json")
	for _, test := range []struct {
		name            string
		want, tolerance float64
		got             func(*Result) float64
	}{
		{"A1 cap10 120rps 1.2s no retry", 0.682, 0.02, func(r *Result) float64 { return r.Requests.FailedShare }},
		{"A2 cap10 120rps base +1 retry", 0.918, 0.02, func(r *Result) float64 { return r.Requests.FailedShare }},
		{"A14 2x cap33 queue16 429 no retry of 429", 0.3132, 0.01, func(r *Result) float64 { return r.Requests.FailedShare }},
		{"A15 cap10 queue5 429", 50, 0.5, func(r *Result) float64 { return r.Requests.Goodput }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(rows, func(g gatewayRun) bool { return g.Name == test.name })
			got := test.got(run(t, rows[i].scenario(2*time.Minute, scaled(30*time.Minute)), 1))
			if math.Abs(got-test.want) > test.tolerance/math.Sqrt(effort) {
				t.Errorf("got %.4f, want %.4f ± %.4f", got, test.want, test.tolerance)
			}
		})
	}
}

// Two minutes of slowness keep the system down for as long as one looks, if
// attempts time out in the wrong order and are retried.
func TestStaysDownAfterTheTriggerIsGone(t *testing.T) {
	for _, g := range readRuns[gatewayRun](t, "testdata/metastable.json") {
		if effort < 1 && !strings.Contains(g.Name, "0.50") {
			continue // the rest are the same controls at other latencies
		}
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			r := run(t, g.scenario(10*time.Minute, scaled(10*time.Minute)), 1)
			g.compare(t, r)
			switch g.Name {
			case "meta retry FIFO after=0.50":
				if r.Calls.FailedShare <= 0.95 {
					t.Errorf("with a retry, share of orders that fail = %.3f, want over 0.95", r.Calls.FailedShare)
				}
			case "meta noretry FIFO after=0.50":
				if r.Calls.FailedShare >= 0.01 {
					t.Errorf("without a retry, share of orders that fail = %.3f, want under 0.01", r.Calls.FailedShare)
				}
			}
		})
	}
}
