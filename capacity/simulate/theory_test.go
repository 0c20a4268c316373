package simulate

import (
	"math"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// An estimate is a mean over independent runs with its standard error.
type estimate struct{ mean, stderr float64 }

// over runs s with n seeds and estimates what each metric returns.
func over(t *testing.T, s Scenario, n int, metrics ...func(*Result) float64) []estimate {
	t.Helper()
	sums, squares := make([]float64, len(metrics)), make([]float64, len(metrics))
	for seed := range n {
		r := run(t, s, uint64(seed))
		for i, metric := range metrics {
			x := metric(r)
			sums[i] += x
			squares[i] += x * x
		}
	}
	estimates := make([]estimate, len(metrics))
	for i := range metrics {
		mean := sums[i] / float64(n)
		variance := (squares[i] - sums[i]*mean) / float64(n-1)
		estimates[i] = estimate{mean, math.Sqrt(max(variance, 0) / float64(n))}
	}
	return estimates
}

// holds checks want against the 99.9 % confidence interval of e, with room for
// what a formula rounds, and that the interval is tight enough to mean something.
func (e estimate) holds(t *testing.T, what string, want float64) {
	t.Helper()
	const t999 = 5.4 // Student's t with 7 degrees of freedom, two-sided
	if math.Abs(e.mean-want) > t999*e.stderr+1e-3*want {
		t.Errorf("%s = %.5f ± %.5f, want %.5f", what, e.mean, t999*e.stderr, want)
	}
	if e.stderr > 0.05*want/math.Sqrt(effort) {
		t.Errorf("%s has a standard error of %.2g, too much to tell %.5f from anything", what, e.stderr, want)
	}
}

// station is one queue with c places and an exponential service time.
func station(rate float64, c int, queue Queue, mean time.Duration) Scenario {
	return Scenario{
		Name: "station", Settle: time.Minute, Duration: scaled(40 * time.Minute),
		Callers: Callers{Rate: Rate(rate), Timeout: time.Hour},
		Service: Service{
			Replicas: 1,
			Client:   Client{Pool: Gate{Places: c, Queue: queue}, Deadline: time.Hour},
		},
		Upstream: Upstream{Latency: Latency{Exponential: mean}},
	}
}

func meanWait(r *Result) float64 { return r.Wait.Mean.Seconds() }
func inFlight(r *Result) float64 { return r.Requests.InFlightMean }
func failed(r *Result) float64   { return r.Requests.FailedShare }

// The wants are Erlang's, for 20 requests a second of 1.2 s, and for two textbook
// cases.
func TestAgreesWithErlangC(t *testing.T) {
	for _, test := range []struct {
		name string
		rate float64
		c    int
		mean time.Duration
		wait float64
	}{
		{"24 erlangs on 28 places", 20, 28, 1200 * time.Millisecond, 0.09994155839781},
		{"24 erlangs on 30 places", 20, 30, 1200 * time.Millisecond, 0.03457241109936},
		{"2 erlangs on 3 places", 20, 3, 100 * time.Millisecond, 0.0444444444},
		{"0.8 erlangs on one place", 20, 1, 40 * time.Millisecond, 0.16},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := over(t, station(test.rate, test.c, Unbounded, test.mean), 8, meanWait, inFlight)
			got[0].holds(t, "mean wait", test.wait)
			got[1].holds(t, "mean in flight", test.rate*test.mean.Seconds())
		})
	}
}

// M/M/c/K by the recursion over its states.
func TestAgreesWithBoundedQueues(t *testing.T) {
	for _, test := range []struct {
		c, k           int
		rate           float64
		blocking, wait float64
	}{
		{25, 25, 20, 0.12328631217139, 0},
		{25, 35, 20, 0.04115281306623, 0.134085068810},
		{10, 10, 20, 0.60792871872241, 0},
		{10, 20, 20, 0.58333705560545, 1.114316298246},
		{33, 43, 40, 0.31323816676628, 0.286505624727},
	} {
		queue := Queue(test.k - test.c)
		if queue == 0 {
			queue = capacity.NoQueue
		}
		got := over(t, station(test.rate, test.c, queue, 1200*time.Millisecond), 8, failed, meanWait)
		got[0].holds(t, "blocking", test.blocking)
		if test.wait > 0 {
			got[1].holds(t, "mean wait of those let in", test.wait)
		}
	}
}

// An overloaded queue with a deadline T serves every request after T − x, where
// E[min(S, x)] = c/λ, and those succeed that need less than x. That is a fluid
// limit: with 60 places it is within two hundredths.
func TestAgreesWithADeadlineInAQueue(t *testing.T) {
	for _, test := range []struct {
		c       int
		rate    float64
		latency Latency
		success float64
	}{
		{60, 120, Latency{Mean: 1200 * time.Millisecond, CV: 1}, 0.31231},
		{60, 120, Latency{Exponential: 1200 * time.Millisecond}, 0.41667},
		{60, 120, Latency{Mean: 1200 * time.Millisecond}, 0},
		{60, 240, Latency{Mean: 1200 * time.Millisecond, CV: 1}, 0.07456},
		{60, 179.53, Latency{Mean: 739500 * time.Microsecond, CV: 1}, 0.35910},
		{60, 117.6, Latency{Mean: 739500 * time.Microsecond, CV: 1}, 0.67784},
		{60, 117.6, Latency{Exponential: 739500 * time.Microsecond}, 0.68993},
		{60, 117.6, Latency{Mean: 739500 * time.Microsecond, CV: 0.5}, 0.36598},
		{198, 480, Latency{Mean: 1200 * time.Millisecond, CV: 1}, 0.21938},
	} {
		t.Run(test.latency.String(), func(t *testing.T) {
			t.Parallel()
			s := station(test.rate, test.c, Unbounded, time.Second)
			s.Upstream.Latency = test.latency
			s.Service.Client.Deadline = 10 * time.Second
			s.Settle, s.Duration = time.Minute, scaled(5*time.Minute)
			got := 1 - run(t, s, 1).Requests.FailedShare
			if math.Abs(got-test.success) > 0.02/math.Sqrt(effort) {
				t.Errorf("%d places, %g/s: success = %.4f, want %.4f ± 0.02", test.c, test.rate, got, test.success)
			}
		})
	}
}
