package simulate

import (
	"fmt"
	"testing"
	"time"
)

func TestPanicsUnderTheThresholdOnly(t *testing.T) {
	for _, test := range []struct {
		healthy, all int
		threshold    float64
		panics       bool
	}{
		{1, 2, 50, false}, // exactly half is not under it
		{11, 24, 50, true},
		{12, 24, 50, false},
		{0, 24, 0, false}, // 0 never panics: no healthy replica instead
		{0, 24, 50, true},
		{15, 20, 90, false}, // over 71.4 % all load is carried, and no threshold counts
		{14, 20, 90, true},
		{1, 3, 33.9, false}, // the threshold is cut to whole percents
	} {
		l := level{all: make([]*host, test.all), healthy: make([]*host, test.healthy)}
		levels := []level{l}
		spread(levels, test.threshold)
		if levels[0].panic != test.panics {
			t.Errorf("%d of %d healthy, threshold %g: panic = %t, want %t", test.healthy, test.all, test.threshold, levels[0].panic, test.panics)
		}
		if levels[0].load != 100 {
			t.Errorf("%d of %d healthy: load = %d, want all of it in the only level", test.healthy, test.all, levels[0].load)
		}
	}
}

// The loads are those of Envoy's documentation on priority levels.
func TestZonesFailOverAsTheyLoseHosts(t *testing.T) {
	for _, test := range []struct {
		near, far int // healthy of 100
		threshold float64
		loads     string
		panics    string
	}{
		{100, 100, 50, "100 0", "false false"},
		{72, 72, 50, "100 0", "false false"},
		{71, 71, 50, "99 1", "false false"},
		{50, 50, 50, "70 30", "false false"},
		{25, 100, 50, "35 65", "false false"},
		{25, 25, 50, "50 50", "true true"},
		{0, 100, 50, "0 100", "false false"},
		{0, 0, 0, "100 0", "false false"},
	} {
		levels := []level{
			{all: make([]*host, 100), healthy: make([]*host, test.near)},
			{all: make([]*host, 100), healthy: make([]*host, test.far)},
		}
		spread(levels, test.threshold)
		if got := fmt.Sprint(levels[0].load, levels[1].load); got != test.loads {
			t.Errorf("%d and %d healthy: loads = %s, want %s", test.near, test.far, got, test.loads)
		}
		if got := fmt.Sprint(levels[0].panic, levels[1].panic); got != test.panics {
			t.Errorf("%d and %d healthy: panic = %s, want %s", test.near, test.far, got, test.panics)
		}
	}
}

func TestCapAdmitsWhatEachImplementationAdmits(t *testing.T) {
	for _, test := range []struct {
		n                            int
		percent                      float64
		floor, atLeastOne, overshoot int
	}{
		{2, 50, 1, 1, 1},
		{3, 10, 0, 1, 1},
		{3, 50, 1, 1, 2},
		{5, 50, 2, 2, 3},
		{6, 10, 0, 1, 1},
		{6, 100, 6, 6, 6},
		{7, 50, 3, 3, 4},
		{19, 5, 0, 1, 1},
		{20, 5, 1, 1, 1},
		{24, 5, 1, 1, 2},
		{24, 10, 2, 2, 3},
		{24, 40, 9, 9, 10},
		{24, 50, 12, 12, 12},
		{24, 100, 24, 24, 24},
	} {
		for rule, want := range map[CapRule]int{CapFloor: test.floor, CapAtLeastOne: test.atLeastOne, CapOvershoot: test.overshoot} {
			o := Outlier{MaxEjectionPercent: test.percent, CapRule: rule}
			got := 0
			for got < test.n && o.admits(got, test.n) {
				got++
			}
			if got != want {
				t.Errorf("rule %d, %d hosts, %g %%: admits %d, want %d", rule, test.n, test.percent, got, want)
			}
		}
	}
}

// watched returns an engine with one proxy over n hosts and this detector.
func watched(t *testing.T, n int, o Outlier) (*engine, *proxy) {
	t.Helper()
	o.MaxEjectionPercent = 100
	s := incident(10, 1, time.Hour)
	s.Service.Replicas, s.Proxy.Outlier = n, &o
	s, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(&s, 1)
	return e, e.proxies[0]
}

func TestDetectorCountsErrorsInARow(t *testing.T) {
	five := []int{503, 503, 503, 503, 503}
	for _, test := range []struct {
		name    string
		outlier Outlier
		answers []int
		ejected bool
	}{
		{"five by default", Outlier{}, five, true},
		{"four are not five", Outlier{}, five[:4], false},
		{"a 429 is a sign of life", Outlier{}, []int{503, 503, 503, 503, 429, 503}, false},
		{"three of the gateway's", Outlier{ConsecutiveGateway: 3}, []int{502, 503, 504}, true},
		{"a 500 is not the gateway's", Outlier{ConsecutiveGateway: 3}, []int{503, 503, 500, 503}, false},
		{"but is an error", Outlier{ConsecutiveGateway: 3}, []int{503, 503, 500, 503, 503}, true},
		{"off", Outlier{Consecutive5xx: Off}, append(five, five...), false},
		{"observing", Outlier{Observe: true}, append(five, five...), false},
	} {
		e, p := watched(t, 4, test.outlier)
		for _, status := range test.answers {
			e.observe(p, p.hosts[0], answer{status, UpstreamError})
		}
		if got := p.hosts[0].monitor.ejected; got != test.ejected {
			t.Errorf("%s: after %v ejected = %t, want %t", test.name, test.answers, got, test.ejected)
		}
		if test.outlier.Observe && e.m.detected != 2 {
			t.Errorf("%s: detected = %d, want 2", test.name, e.m.detected)
		}
	}
}

func TestSplitCountsWhatTheProxySawApart(t *testing.T) {
	e, p := watched(t, 4, Outlier{SplitLocal: true, ConsecutiveLocal: 2, Consecutive5xx: 2})
	e.observe(p, p.hosts[0], answer{504, ProxyTimeout})
	e.observe(p, p.hosts[0], answer{503, UpstreamError})
	e.observe(p, p.hosts[0], answer{504, ProxyTimeout})
	if p.hosts[0].monitor.ejected {
		t.Error("a timeout and an answer of 503 add up, want them counted apart")
	}
	e.observe(p, p.hosts[0], answer{503, Unconnected})
	if !p.hosts[0].monitor.ejected {
		t.Error("two failures in a row that the proxy saw itself do not eject, want them to")
	}
}

// Each ejection lasts a base longer than the one before, and is over at the first
// sweep after that.
func TestEjectionsGrowAndEndAtASweep(t *testing.T) {
	e, p := watched(t, 4, Outlier{Consecutive5xx: 1})
	h := p.hosts[0]
	second := int64(time.Second)
	for _, want := range []int64{30, 60, 90} {
		e.observe(p, h, answer{503, UpstreamError})
		began := e.now
		for h.monitor.ejected {
			e.now += 7 * second
			e.sweepProxy(p)
		}
		if out := (e.now - began) / second; out < want || out >= want+7 {
			t.Errorf("ejected for %d s, want %d to %d", out, want, want+7)
		}
	}
	for range 5 {
		e.now += 10 * second
		e.sweepProxy(p)
	}
	e.observe(p, h, answer{503, UpstreamError})
	e.now += 31 * second
	e.sweepProxy(p)
	if h.monitor.ejected {
		t.Error("after five good intervals still ejected for longer than the base, want the past forgotten")
	}
}

// Success rates of 50, 100, 100, 100 and 100 have a mean of 90 and a deviation of
// 20: with a factor of 1.9 the first is under 52.
func TestSuccessRateEjectsTheOneThatStandsOut(t *testing.T) {
	e, p := watched(t, 5, Outlier{Consecutive5xx: Off, SuccessRate: &SuccessRate{}})
	for i, h := range p.hosts {
		h.monitor.total, h.monitor.good = 100, 100
		if i == 0 {
			h.monitor.good = 50
		}
	}
	e.sweepProxy(p)
	if p.ejected != 1 || !p.hosts[0].monitor.ejected {
		t.Errorf("ejected = %d, want the first alone", p.ejected)
	}
}

func TestFailurePercentageEjectsAtTheThreshold(t *testing.T) {
	e, p := watched(t, 5, Outlier{Consecutive5xx: Off, FailurePercentage: &FailurePercentage{}})
	for i, h := range p.hosts {
		h.monitor.total, h.monitor.good = 100, 50
		if i == 0 {
			h.monitor.good = 15
		}
	}
	e.sweepProxy(p)
	if p.ejected != 1 || !p.hosts[0].monitor.ejected {
		t.Errorf("ejected = %d, want the one with 85 %% failures", p.ejected)
	}
}

func TestProxyDoesNotRetryWhatItRefusedItself(t *testing.T) {
	e, _ := watched(t, 4, Outlier{})
	e.s.Proxy.Retries = 2
	for a, want := range map[answer]bool{
		{503, BrokenReplica}: true,
		{504, ProxyTimeout}:  true,
		{503, NoHealthy}:     false,
		{503, BreakerOpen}:   false,
		{429, DoorFull}:      false,
		served:               false,
	} {
		if got := e.triesAgain(&call{try: 1}, a); got != want {
			t.Errorf("after %d, %v: tries again = %t, want %t", a.status, a.cause, got, want)
		}
	}
	if e.triesAgain(&call{try: 3}, answer{503, BrokenReplica}) {
		t.Error("after two retries it tries again, want no more")
	}
}

// Envoy allows a share of what is in flight, and three in any case.
func TestRetryPercentCountsWhatIsInFlight(t *testing.T) {
	e, p := watched(t, 4, Outlier{})
	e.s.Proxy.Retries, e.s.Proxy.RetryPercent = 2, 20
	for _, test := range []struct {
		active, retrying int
		want             bool
	}{{0, 2, true}, {0, 3, false}, {25, 4, true}, {25, 5, false}, {144, 27, true}, {144, 28, false}} {
		p.active, p.retrying = test.active, test.retrying
		if got := e.triesAgain(&call{try: 1}, answer{503, BrokenReplica}); got != test.want {
			t.Errorf("%d in flight, %d retries: tries again = %t, want %t", test.active, test.retrying, got, test.want)
		}
	}
}
