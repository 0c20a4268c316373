package simulate

import (
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// rolled runs a rollout of n replicas under no load to speak of, and returns the
// most and the fewest that were ready, and the result.
func rolled(t *testing.T, n int, r Rollout) (most, fewest float64, result *Result) {
	t.Helper()
	s := Scenario{
		Duration: 10 * time.Minute,
		Callers:  Callers{Rate: 1, Timeout: time.Second},
		Service:  Service{Replicas: n, Start: 10 * time.Second, PreStop: time.Second, Client: Client{Deadline: time.Second}},
		Upstream: Upstream{Latency: Latency{Mean: time.Millisecond}},
		Events:   []Event{{At: time.Minute, Rollout: &r}},
	}
	result = run(t, s, 1)
	fewest = float64(n)
	for _, v := range result.Find(SeriesReady).Values {
		most, fewest = max(most, v), min(fewest, v)
	}
	return most, fewest, result
}

func TestRolloutKeepsWithinSurgeAndUnavailable(t *testing.T) {
	for _, test := range []struct {
		n            int
		rollout      Rollout
		most, fewest float64
	}{
		{6, Rollout{}, 6, 5}, // 25 % each: two more, one fewer
		{3, Rollout{}, 3, 3}, // one more, none fewer
		{6, Rollout{MaxSurge: capacity.Pods{Count: 1}}, 6, 6},
		{6, Rollout{MaxUnavailable: capacity.Pods{Count: 2}}, 6, 4},
		{1, Rollout{MaxUnavailable: capacity.Pods{Percent: 25}}, 1, 0}, // rounds to none, and so to one
		{6, Rollout{MaxSurge: capacity.Pods{Count: 1}, MinReady: 20 * time.Second}, 7, 6},
	} {
		most, fewest, r := rolled(t, test.n, test.rollout)
		if most != test.most || fewest != test.fewest {
			t.Errorf("%d replicas, %+v: ready between %g and %g, want %g and %g", test.n, test.rollout, fewest, most, test.fewest, test.most)
		}
		if r.Calls.Failed[Unconnected] > 0 && test.n > 1 {
			t.Errorf("%d replicas, %+v: %d calls found nobody", test.n, test.rollout, r.Calls.Failed[Unconnected])
		}
		done := false
		for _, m := range r.Moments {
			done = done || m.Text == "the rollout is done"
		}
		if !done {
			t.Errorf("%d replicas, %+v: the rollout does not end; moments: %v", test.n, test.rollout, r.Moments)
		}
	}
}

// With no time between the word to go and the end of listening, calls that proxies
// still send there are refused.
func TestPreStopBridgesTheEndpointDelay(t *testing.T) {
	lost := func(preStop time.Duration) int64 {
		s := panicRollout(240)
		s.Duration = 3 * time.Minute
		s.Service.Gated, s.Proxy.Outlier, s.Events = true, nil, s.Events[1:]
		s.Service.PreStop = preStop
		return run(t, s, 1).Calls.Failed[Unconnected]
	}
	if n := lost(0); n == 0 {
		t.Error("without PreStop no call is refused, want some")
	}
	if n := lost(time.Second); n != 0 {
		t.Errorf("with a PreStop of 1 s, longer than the delay, %d calls are refused, want 0", n)
	}
}

// The kubelet kills after (failures − 1) periods and a timeout of silence, counted
// from a probe: 21 s with its defaults.
func TestLivenessKillsAReplicaWhoseProbeWaits(t *testing.T) {
	for _, shared := range []bool{true, false} {
		s := Scenario{
			Duration: 5 * time.Minute,
			Callers:  Callers{Rate: 20, Timeout: 30 * time.Second},
			Service: Service{
				Replicas: 1, Door: Gate{Places: 2, Queue: Unbounded}, Client: Client{Deadline: time.Minute},
				Start: 5 * time.Second, Liveness: Liveness{Period: 10 * time.Second, SharesPool: shared},
			},
			Upstream: Upstream{Latency: Latency{Mean: time.Millisecond}},
			Events:   []Event{{At: time.Minute, Latency: &Latency{Mean: time.Hour}}},
		}
		r := run(t, s, 1)
		i := 0
		values := r.Find(SeriesRestarts).Values
		for i < len(values) && values[i] == 0 {
			i++
		}
		at := time.Duration(i) * r.Series[0].Step
		switch {
		case !shared && r.Restarts != 0:
			t.Errorf("with a probe of its own, restarts = %d, want 0", r.Restarts)
		case shared && (at < 80*time.Second || at > 92*time.Second):
			t.Errorf("first restart at %v, want 21 s to 31 s after the first minute", at)
		}
	}
}

func TestObserveCountsAndLetsIn(t *testing.T) {
	s := incident(10, 1, 2*time.Minute)
	s.Service.Client.Pool.Queue, s.Service.Client.Pool.Observe = capacity.NoQueue, true
	r := run(t, s, 1)
	if r.GatesRefused == 0 || r.Calls.Failed[PoolFull] != 0 {
		t.Errorf("observing: %d would be refused and %d calls are, want some and 0", r.GatesRefused, r.Calls.Failed[PoolFull])
	}
	if r.Requests.InFlightPeak <= 60 {
		t.Errorf("observing: in flight = %g, want more than the 60 places", r.Requests.InFlightPeak)
	}
}

// A zone that most callers are in is overloaded while the rest idles, since a busy
// replica is a healthy one.
func TestZoneFirstOverloadsTheCallersZone(t *testing.T) {
	failed := func(zoneFirst bool) float64 {
		s := panicRollout(540)
		s.Events, s.Duration = nil, time.Minute
		s.Proxy.Outlier, s.Proxy.ZoneFirst = nil, zoneFirst
		s.Service.Zones, s.Callers.Count, s.Callers.ZoneShares = 3, 10, []Share{0.7, 0.2, 0.1}
		return run(t, s, 1).Calls.FailedShare
	}
	if x := failed(true); x < 0.05 {
		t.Errorf("zone first: share of calls that fail = %.3f, want over 0.05", x)
	}
	if x := failed(false); x != 0 {
		t.Errorf("all zones: share of calls that fail = %.3f, want 0", x)
	}
}
