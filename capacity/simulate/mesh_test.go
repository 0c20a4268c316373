package simulate

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// The rows of a simulation of the rollout written independently of this package:
// 450 s, counts of calls that failed by what the caller saw.
func TestAgreesWithAnotherSimulationOfTheRollout(t *testing.T) {
	outlier := func(change func(*Outlier)) func(*Scenario) {
		return func(s *Scenario) { change(s.Proxy.Outlier) }
	}
	gated := func(s *Scenario) { s.Service.Gated = true }
	callerDeadline := func(s *Scenario) { s.Proxy.Timeout, s.Callers.Timeout = 0, 30*time.Second }
	for i, test := range []struct {
		name            string
		change          func(*Scenario)
		share           float64
		warming, hung   int64
		mostOut, atMost int
		panics          bool
	}{
		{"all may be ejected, panic at 50", func(*Scenario) {}, 0.02875, 1061, 1966, 18, 24, true},
		{"40 percent", outlier(func(o *Outlier) { o.MaxEjectionPercent = 40 }), 0.03235, 1243, 2114, 9, 9, false},
		{"40 percent as Envoy 1.26 counts", outlier(func(o *Outlier) { o.MaxEjectionPercent, o.CapRule = 40, CapOvershoot }), 0.0327, 1254, 2140, 10, 10, false},
		{"50 percent", outlier(func(o *Outlier) { o.MaxEjectionPercent = 50 }), 0.03271, 1194, 2204, 12, 12, false},
		{"60 percent", outlier(func(o *Outlier) { o.MaxEjectionPercent = 60 }), 0.02857, 1060, 1928, 14, 14, true},
		{"readiness gate", gated, 0.01779, 0, 1849, 1, 1, false},
		{"two choices", func(s *Scenario) { s.Proxy.Pick = LeastRequest }, 0.01384, 1278, 160, 18, 24, true},
		{"no panic", func(s *Scenario) { s.Proxy.PanicThreshold = 0 }, 0.02217, 276, 2042, 18, 24, false},
		{"six replicas only", func(s *Scenario) { s.Events[1].Rollout.Replicas = 6 }, 0.01913, 72, 1922, 7, 7, false},
		{"429 while warming", func(s *Scenario) { s.Service.Warming = Answer429 }, 0.03433, 1795, 1856, 1, 1, false},
		{"queue while warming", func(s *Scenario) { s.Service.Warming = Wait }, 0.0178, 0, 1850, 1, 1, false},
		{"default cap of 10 percent", outlier(func(o *Outlier) { o.MaxEjectionPercent = 0 }), 0.0347, 1651, 1971, 2, 2, false},
		{"24 callers", func(s *Scenario) { s.Callers.Count = 24 }, 0.03693, 1597, 2257, 18, 24, true},
		{"24 callers, 21 requests a second", func(s *Scenario) { s.Callers.Count, s.Callers.Rate = 24, 21.14 }, 0.0491, 172, 273, 1, 1, false},
		{"the caller's deadline hides the hang", callerDeadline, 0.05208, 1003, 4283, 18, 24, true},
		{"gate, hidden hang", func(s *Scenario) { gated(s); callerDeadline(s) }, 0.03928, 0, 3902, 0, 0, false},
	} {
		if i >= 4 && effort < 1 {
			break // the rest differ in what the engine computes, not in what it shares
		}
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := panicRollout(240)
			test.change(&s)
			r := run(t, s, 1)
			count := func(what string, got, want int64) {
				t.Helper()
				if math.Abs(float64(got-want)) > 0.1*float64(want)+3*math.Sqrt(float64(want)) {
					t.Errorf("calls that failed by %s = %d, want about %d", what, got, want)
				}
			}
			// The other simulation counts calls in flight at the end as failed.
			if math.Abs(r.Calls.FailedShare-test.share) > 0.12*test.share+0.003 {
				t.Errorf("share of calls that fail = %.4f, want about %.4f", r.Calls.FailedShare, test.share)
			}
			count("a warming replica", r.Calls.Failed[WarmingReplica], test.warming)
			count("a hang", r.Calls.Failed[ProxyTimeout]+r.Calls.Failed[CallerTimeout], test.hung)
			if out := r.Mesh.MostEjected; out < test.mostOut || out > test.atMost {
				t.Errorf("most ejected = %d, want %d to %d", out, test.mostOut, test.atMost)
			}
			if panics := r.Mesh.PanicTime > 0; panics != test.panics {
				t.Errorf("time in panic = %v, want some: %t", r.Mesh.PanicTime, test.panics)
			}
			if test.name == "50 percent" && r.Mesh.LeastHealthyPercent != 50 {
				t.Errorf("least healthy = %g %%, want exactly 50", r.Mesh.LeastHealthyPercent)
			}
		})
	}
}

// How many are out at once follows from how long a batch takes beside how long an
// ejection lasts: b·⌈D/T⌉ to b·⌈(D+I)/T⌉.
func TestEjectsAsManyAsBatchesOverlap(t *testing.T) {
	for _, test := range []struct {
		start  time.Duration
		lo, hi int
		panics bool
	}{
		{4500 * time.Millisecond, 24, 24, true},
		{8500 * time.Millisecond, 24, 24, true},
		{12500 * time.Millisecond, 18, 24, true},
		{16500 * time.Millisecond, 12, 18, true},
		{24500 * time.Millisecond, 12, 12, false},
		{40500 * time.Millisecond, 6, 6, false},
		{60500 * time.Millisecond, 6, 6, false},
	} {
		t.Run(fmt.Sprint(test.start), func(t *testing.T) {
			t.Parallel()
			s := panicRollout(120)
			s.Service.Start = test.start
			s.Duration = 30*time.Second + 6*test.start + 45*time.Second
			s.Events = []Event{{At: time.Minute, Rollout: &Rollout{MaxSurge: capacity.Pods{Percent: 25}}}}
			r := run(t, s, 1)
			if out := r.Mesh.MostEjected; out < test.lo || out > test.hi {
				t.Errorf("most ejected = %d, want %d to %d", out, test.lo, test.hi)
			}
			if panics := r.Mesh.PanicTime > 0; panics != test.panics {
				t.Errorf("time in panic = %v, want some: %t", r.Mesh.PanicTime, test.panics)
			}
		})
	}
}

// At 70 % load the same file with another control plane's panic threshold loses
// ten times as many calls. A seed decides how many, but not that.
func TestHeadroomDecidesWhetherPanicHelps(t *testing.T) {
	seeds, most := 2, 0.04
	if effort < 1 {
		seeds, most = 1, 0.06 // of a shorter run, of which the rollout is more
	}
	for seed := range uint64(seeds) {
		with, without := panicRollout(672), panicRollout(672)
		if effort < 1 {
			with.Duration, without.Duration = 3*time.Minute, 3*time.Minute
		}
		without.Proxy.PanicThreshold = 0
		w, o := run(t, with, seed).Calls, run(t, without, seed).Calls
		if w.FailedShare < 0.02 || w.FailedShare > most {
			t.Errorf("seed %d: with panic at 50, share of calls that fail = %.4f, want 0.02 to %.2f", seed, w.FailedShare, most)
		}
		if o.FailedShare < 0.1 || o.FailedShare > 0.65 || o.Failed[NoHealthy] == 0 {
			t.Errorf("seed %d: without, share = %.4f with %d for no healthy replica, want 0.1 to 0.65 and some", seed, o.FailedShare, o.Failed[NoHealthy])
		}
	}
}

func TestTwoChoicesStarveAHungReplica(t *testing.T) {
	turns, choices := panicRollout(240), panicRollout(240)
	choices.Proxy.Pick = LeastRequest
	turns.Duration, choices.Duration = 3*time.Minute, 3*time.Minute
	a, b := run(t, turns, 3).Calls.Failed[ProxyTimeout], run(t, choices, 3).Calls.Failed[ProxyTimeout]
	if b >= a/8 {
		t.Errorf("calls hung with two choices = %d, want under an eighth of the %d by turns", b, a)
	}
}

// searchUnderLoad is 20 replicas of which four answer 503 at once, at 70 % load,
// with a detector and a probe that stands in the queue.
func searchUnderLoad(queue Queue) Scenario {
	return Scenario{
		Settle: 30 * time.Second, Duration: 4 * time.Minute,
		Callers: Callers{Rate: 560, Timeout: 10 * time.Second},
		Proxy: Proxy{
			PerTry: time.Second, Retries: 2, RetryOn: []int{503, 504},
			Outlier: &Outlier{Interval: 5 * time.Second, MaxEjectionPercent: 50},
		},
		Service: Service{
			Replicas: 20, Door: Gate{Places: 4, Queue: queue}, Client: Client{Deadline: 20 * time.Second},
			Liveness: Liveness{Period: 10 * time.Second, SharesPool: true, Restart: 10 * time.Second},
		},
		Upstream: Upstream{Latency: Latency{Mean: 100 * time.Millisecond, CV: 1}},
		Events:   []Event{{Break: []int{1, 2, 3, 4}}},
	}
}

// With a queue that is over before a try times out, the answer is all that matters.
func TestA429IsNoReasonToEject(t *testing.T) {
	s := searchUnderLoad(20)
	r := run(t, s, 1)
	if r.Calls.FailedShare < 0.2 || r.Restarts < 10 || r.Calls.TriesPerCall < 1.8 {
		t.Errorf("full queues answer 503: share of calls that fail = %.4f, %d restarts, %.2f tries, want over 0.2, 10 and 1.8",
			r.Calls.FailedShare, r.Restarts, r.Calls.TriesPerCall)
	}
	s.Service.Busy = Answer429
	r = run(t, s, 1)
	if r.Calls.FailedShare > 0.005 || r.Restarts > 0 {
		t.Errorf("full queues answer 429: share of calls that fail = %.4f, %d restarts, want under 0.005 and 0", r.Calls.FailedShare, r.Restarts)
	}
}

// The cap that such a detector usually has does as little harm as good.
func TestACapOfFivePercentEjectsOneOfTwenty(t *testing.T) {
	s := searchUnderLoad(60)
	s.Duration = 2 * time.Minute
	s.Proxy.Outlier = &Outlier{Consecutive5xx: 20, Interval: 30 * time.Second, MaxEjectionPercent: 5}
	r := run(t, s, 1)
	if r.Mesh.MostEjected != 1 || r.Mesh.CapRefused == 0 {
		t.Errorf("most ejected = %d with %d refused, want 1 and some", r.Mesh.MostEjected, r.Mesh.CapRefused)
	}
}
