package debug

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

var testBounds = []float64{0, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

func histogramOf(values ...float64) Histogram {
	h := Histogram{Bounds: testBounds, Counts: make([]uint64, len(testBounds)+1)}
	for _, v := range values {
		for i, b := range testBounds {
			if v <= b {
				h.Counts[i]++
			}
		}
		h.Counts[len(testBounds)]++
	}
	return h
}

func TestAQuantileLiesInTheBucketOfItsValue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		values := make([]float64, 1+r.IntN(500))
		for i := range values {
			values[i] = max(0, r.ExpFloat64()-0.2)
		}
		h := histogramOf(values...)
		slices.Sort(values)
		for _, q := range []float64{0.5, 0.95, 0.99} {
			exact := values[int(math.Ceil(q*float64(len(values))))-1]
			i, _ := slices.BinarySearch(testBounds, exact)
			if i == len(testBounds) {
				continue
			}
			lower := 0.0
			if i > 0 {
				lower = testBounds[i-1]
			}
			if got := h.quantile(q); got < lower || got > testBounds[i] {
				t.Fatalf("quantile(%v) of %d values = %v, want one in [%v, %v], the bucket of %v", q, len(values), got, lower, testBounds[i], exact)
			}
		}
	}
}

func TestQuantilesAtTheEdges(t *testing.T) {
	for name, c := range map[string]struct {
		h      Histogram
		want   float64
		capped bool
	}{
		"nothing":                {Histogram{}, math.NaN(), false},
		"lengths that don't fit": {Histogram{Bounds: []float64{1}, Counts: []uint64{1}}, math.NaN(), false},
		"no bounds":              {Histogram{Counts: []uint64{5}}, math.NaN(), false},
		"none waited":            {histogramOf(0, 0, 0), 0, false},
		"beyond the last bound":  {histogramOf(30, 40), 10, true},
	} {
		got, capped := c.h.quantile(0.95), c.h.capped(0.95)
		if got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) || capped != c.capped {
			t.Errorf("%s: quantile(0.95) = %v, beyond the bounds %v, want %v, %v", name, got, capped, c.want, c.capped)
		}
	}
}

func TestOnlyWhatCameSinceCounts(t *testing.T) {
	old := histogramOf(5, 5, 5)
	now := histogramOf(5, 5, 5, 0.01, 0.01)
	if got := now.since(old); got.count() != 2 || got.quantile(0.99) > 0.01 {
		t.Errorf("since() has %d observations with a p99 of %v, want the 2 new ones of 10 ms", got.count(), got.quantile(0.99))
	}
	restarted := histogramOf(0.01)
	if got := restarted.since(old); got.count() != 1 {
		t.Errorf("since() after a restart has %d observations, want all: 1", got.count())
	}
}

func TestAPercentileNeverExceedsABound(t *testing.T) {
	h := Histogram{Bounds: []float64{1, 2.5, 5, 10}, Counts: []uint64{0, 0, 0, 100, 100}}
	for _, tt := range []struct {
		most time.Duration
		want float64
	}{
		{0, 9.95},               // not known
		{6 * time.Second, 6},    // a deadline within the bucket
		{time.Minute, 9.95},     // it is not what ended them
		{3 * time.Second, 9.95}, // they exceeded it, so that it does not bind them
	} {
		if got := h.within(tt.most).quantile(0.99); got != tt.want {
			t.Errorf("the p99 within %v = %v, want %v", tt.most, got, tt.want)
		}
	}
	if got := h.within(6 * time.Second).since(Histogram{}).quantile(0.99); got != 6 {
		t.Errorf("the p99 of a window within 6s = %v, want 6", got)
	}
}

func TestALeakComesBeforeWhatItLooksLike(t *testing.T) {
	u, w := quiet()
	u.Required, u.Rate, u.Hold, u.Queued = 40, 20, 2*time.Second, 1
	w.leaked, w.headers = 100, Histogram{Bounds: []float64{0.005, 0.01}, Counts: []uint64{0, 100, 100}}
	got := judgeUpstream(u, w)
	if got[0].Word != "leaking" || got[0].Level != bad || !strings.Contains(got[0].Detail, "the upstream answers") {
		t.Errorf("judgeUpstream(a leak) begins with %v, want the leak, and that the upstream answers", got[0])
	}
}

func TestASteadyLoadOfSlowCallsIsNoBurst(t *testing.T) {
	u, w := quiet()
	u.Plan.Latency, u.Hold, u.Rate, u.Required = 100*time.Millisecond, time.Second, 6, 6
	w.refused = map[string]uint64{"queue_full": 100}
	for _, f := range judgeUpstream(u, w) {
		if strings.Contains(f.Detail, "bursts") {
			t.Errorf("judgeUpstream(calls ten times slower) = %v, want no word of bursts", f)
		}
	}
}
