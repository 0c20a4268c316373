package simulate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTimersComeInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var h timers
	var want []timer
	for i := range 5000 {
		at, k := r.Int64N(300), kind(r.IntN(int(beginning)+1))
		h.add(at, k, int32(i), 0)
		want = append(want, timer{at: at, seq: uint64(i + 1), id: int32(i), kind: k})
	}
	slices.SortFunc(want, func(a, b timer) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for i, w := range want {
		if got, ok := h.next(300); !ok || got != w {
			t.Fatalf("timer %d = %+v, %t, want %+v", i, got, ok, w)
		}
	}
	if _, ok := h.next(300); ok {
		t.Error("next() finds a timer in an empty heap")
	}
}

func TestHistogramQuantilesAreWithinAPercent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	l := Latency{Mean: 300 * time.Millisecond, CV: 1}.sampler()
	var h histogram
	var all []int64
	for range 100_000 {
		x := l.draw(r)
		h.add(x)
		all = append(all, x)
	}
	slices.Sort(all)
	for _, q := range []float64{0.01, 0.5, 0.95, 0.99, 0.999, 1} {
		want := float64(all[min(int(q*float64(len(all))), len(all)-1)])
		if got := float64(h.quantile(q)); got < 0.99*want || got > 1.01*want {
			t.Errorf("quantile(%g) = %v, want %v within 1 %%", q, time.Duration(got), time.Duration(want))
		}
	}
}

func TestLatenciesHaveTheirMomentsAndPercentiles(t *testing.T) {
	for _, test := range []struct {
		latency Latency
		mean    float64
		p50     float64
	}{
		{Latency{P50: 300 * time.Millisecond, P99: 1200 * time.Millisecond}, 0.3583, 0.3},
		{Latency{Mean: 1200 * time.Millisecond, CV: 1}, 1.2, 0.8485},
		{Latency{Exponential: time.Second}, 1, 0.6931},
		{Latency{Mean: time.Second}, 1, 1},
		{Latency{Samples: []time.Duration{3 * time.Second, time.Second, 2 * time.Second}}, 2, 2},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		l := test.latency.sampler()
		var h histogram
		for range 200_000 {
			h.add(l.draw(r))
		}
		if got := h.mean().Seconds(); got < 0.99*test.mean || got > 1.01*test.mean {
			t.Errorf("%v: mean = %.4f s, want %.4f", test.latency, got, test.mean)
		}
		if got := h.quantile(0.5).Seconds(); got < 0.98*test.p50 || got > 1.02*test.p50 {
			t.Errorf("%v: p50 = %.4f s, want %.4f", test.latency, got, test.p50)
		}
	}
}

// A ramp, a step, a spike and a silence: what arrives in each part is the area
// under the rate.
func TestArrivalsFollowTheLoad(t *testing.T) {
	load := []Point{
		{0, 100}, {100 * time.Second, 100}, // 10,000
		{200 * time.Second, 300},                       // ramp: 20,000
		{200 * time.Second, 0}, {300 * time.Second, 0}, // silence
		{300 * time.Second, 1000}, {310 * time.Second, 0}, // falling spike: 5,000
		{310 * time.Second, 10}, {310 * time.Second, 50.5}, // the last of several points counts
	}
	want := []int{10_000, 20_000, 0, 5_000 + 90*50}
	for _, even := range []bool{true, false} {
		a := newArrivals(Callers{Load: load, Even: even})
		r := rand.New(rand.NewPCG(1, 1))
		var got [4]int
		for at := a.after(0, r); at < int64(400*time.Second); at = a.after(at, r) {
			got[at/int64(100*time.Second)]++
		}
		for i := range got {
			tolerance := 60
			if !even {
				tolerance = want[i] / 20
			}
			if got[i] < want[i]-tolerance || got[i] > want[i]+tolerance {
				t.Errorf("even %t: arrivals from %d s = %d, want %d ± %d", even, 100*i, got[i], want[i], tolerance)
			}
		}
	}
}

func TestNothingArrivesAfterTheRateFallsToZero(t *testing.T) {
	a := newArrivals(Callers{Load: []Point{{0, 10}, {time.Second, 0}}})
	r := rand.New(rand.NewPCG(1, 1))
	n, at := 0, a.after(0, r)
	for ; at <= int64(time.Second); at = a.after(at, r) {
		n++
	}
	if n == 0 || a.after(int64(time.Second), r) < int64(1000*time.Hour) {
		t.Errorf("%d arrive and then one at %d ns, want some and then none", n, at)
	}
}

func TestReturnsAllMistakesAtOnce(t *testing.T) {
	s := panicRollout(-1)
	s.Duration = 0
	s.Proxy.RetryOn = []int{404}
	s.Proxy.Outlier.BaseEjection, s.Proxy.Outlier.MaxEjection = time.Minute, time.Second
	s.Service.Client.Deadline = 0
	s.Upstream.Latency.Exponential = time.Second
	s.Events[0].Wedge = []int{0}
	s.Events[1].Rollout.Replicas = 30
	_, err := Run(t.Context(), s, nil)
	if err == nil {
		t.Fatal("Run returns no error")
	}
	for _, field := range []string{
		"Duration", "Callers.Rate", "Proxy.RetryOn[0]", "Proxy.Outlier.MaxEjection", "Service.Client.Deadline",
		"Upstream.Latency", "Events[0].Wedge[0]", "Events[1].Rollout.Replicas",
	} {
		if !strings.Contains(err.Error(), "simulate: "+field+": ") {
			t.Errorf("Run names no mistake of %s; it says:\n%v", field, err)
		}
	}
	if m, ok := errors.AsType[*Mistake](err); !ok || m.Field != "Duration" {
		t.Errorf("AsType finds %+v, want the mistake of Duration", m)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	o := &Options{Progress: func(done float64) {
		if done > 0.1 {
			cancel(why)
		}
	}}
	if _, err := Run(ctx, incident(10, 1, time.Hour), o); !errors.Is(err, why) {
		t.Errorf("Run = %v, want the cause of its context", err)
	}
	if _, err := Repeat(ctx, incident(10, 1, time.Hour), 3, nil); !errors.Is(err, why) {
		t.Errorf("Repeat = %v, want the cause of its context", err)
	}
}

func TestRunLeavesItsScenarioAlone(t *testing.T) {
	s := panicRollout(50)
	s.Duration = time.Minute
	s.Events = []Event{{At: 2 * time.Second, Note: "later"}, {At: time.Second, Note: "sooner"}}
	run(t, s, 1)
	if s.Events[0].Note != "later" || s.Proxy.Outlier.Interval != 0 || s.Proxy.RetryOn != nil {
		t.Errorf("after Run the scenario has %+v and %+v, want what was stated", s.Events, *s.Proxy.Outlier)
	}
}

func TestARunThatOutgrowsMemoryEnds(t *testing.T) {
	s, err := incident(10, 1, time.Minute).Resolve()
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(&s, 1)
	e.runUntil(int64(30*time.Second), math.MaxInt)
	if err := e.overgrown(); err != nil {
		t.Errorf("overgrown() = %v, want nil", err)
	}
	e.room = e.timers.size() - 1
	if err := e.overgrown(); err == nil || !strings.Contains(err.Error(), "after 30s") {
		t.Errorf("overgrown() with a timer too many = %v, want an error at 30s", err)
	}
}

func TestHostsAreBoundedAsAWhole(t *testing.T) {
	s := incident(10, 1, time.Minute)
	s.Callers.Count, s.Service.Replicas = 2000, 1000
	m, ok := errors.AsType[*Mistake](func() error { _, err := s.Resolve(); return err }())
	if !ok || m.Field != "Callers.Count" || m.Remedy != "1000 would do" {
		t.Errorf("Resolve(2000 callers of 1000 replicas) = %+v, want a mistake of Callers.Count with 1000", m)
	}
}
