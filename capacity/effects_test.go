package capacity

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestLognormalFitGivesTheMean(t *testing.T) {
	want := oracle[map[string]json.RawMessage](t, "formulas.json", "lognormal_fit")
	for key, args := range map[string][2]float64{"p50_0.3_p99_1.2": {0.3, 1.2}, "p50_1.2_p99_4.8": {1.2, 4.8}} {
		var w struct{ Sigma, Mean, CS2 number }
		if err := json.Unmarshal(want[key], &w); err != nil {
			t.Fatal(err)
		}
		s := FitLognormal(args[0], args[1])
		near(t, "Sigma", s.Sigma(), w.Sigma)
		near(t, "Mean", s.Mean(), w.Mean)
		near(t, "Variation2", s.Variation2(), w.CS2)
		near(t, "Below(p50)", s.Below(args[0]), 0.5)
		near(t, "Below(p99)", s.Below(args[1]), 0.99)
	}
}

func TestCallersWhoGiveUpCollapseTheQueue(t *testing.T) {
	type row struct {
		C       int
		Lambda  float64
		Dist    []any
		T       float64
		Left    number `json:"service_left_x"`
		Wait    number
		Success number
		Goodput number
	}
	for _, r := range oracle[[]row](t, "fifo_deadline.json", "") {
		mean := r.Dist[1].(float64)
		spread := Constant(mean)
		switch r.Dist[0] {
		case "exp":
			spread = Exponential(mean)
		case "logn":
			spread = Lognormal(mean, r.Dist[2].(float64))
		}
		got := Collapse(r.C, r.Lambda, spread, r.T)
		near(t, "Left", got.Left, r.Left)
		near(t, "Wait", got.Wait, r.Wait)
		near(t, "Success", got.Success, r.Success)
		near(t, "Goodput", got.Goodput, r.Goodput)
	}
	if got := Collapse(60, 30, Constant(1.2), 10); got != (Collapsed{Left: 10, Success: 1, Goodput: 30}) {
		t.Errorf("Collapse below capacity = %+v, want no wait and no failure", got)
	}
}

func TestRetriesMultiplyLoad(t *testing.T) {
	type fixed struct {
		Rate     number `json:"lambda0"`
		Capacity number
		Attempts int    `json:"max_attempts"`
		P        number `json:"attempt_fail_p"`
		Load     number `json:"amplification"`
		Offered  number
		Fails    number `json:"request_fail"`
	}
	type retries struct {
		PerLayer map[string]number `json:"per_layer"`
		Layers   map[string]number `json:"layers_p1"`
		Fixed    []fixed           `json:"fixed_point"`
	}
	want := oracle[retries](t, "formulas.json", "retry")
	for key, w := range want.PerLayer {
		ps, ns, _ := strings.Cut(strings.TrimPrefix(key, "p="), ",n=")
		p, _ := strconv.ParseFloat(ps, 64)
		n, _ := strconv.Atoi(ns)
		near(t, "RetryLoad "+key, RetryLoad(p, n), w)
	}
	for key, w := range want.Layers {
		got := 1.0
		for s := range strings.SplitSeq(key, "x") {
			n, _ := strconv.Atoi(s)
			got *= RetryLoad(1, n)
		}
		near(t, "layers "+key, got, w)
	}
	for _, f := range want.Fixed {
		got := RetryOverload(float64(f.Rate), float64(f.Capacity), f.Attempts)
		near(t, "AttemptFails", got.AttemptFails, f.P)
		near(t, "Load", got.Load, f.Load)
		near(t, "Offered", got.Offered, f.Offered)
		near(t, "CallFails", got.CallFails, f.Fails)
	}
	near(t, "BudgetLoad(0.2)", BudgetLoad(0.2), 1.25)
	near(t, "BudgetLoad(0.1)", BudgetLoad(0.1), 10.0/9)
	if got, want := RetryOverload(50, 60, 3), (Overload{Load: 1, Offered: 50}); got != want {
		t.Errorf("RetryOverload below capacity = %+v, want %+v", got, want)
	}
}

func TestRolloutsRoundAsKubernetesDoes(t *testing.T) {
	type row struct{ Replicas, MaxSurge25, MaxUnavailable25 int }
	rows := oracle[[]row](t, "formulas.json", "k8s_rounding")
	for _, r := range rows {
		extra, missing := RolloutPods(r.Replicas, Pods{Percent: 25}, Pods{Percent: 25})
		if extra != r.MaxSurge25 || missing != r.MaxUnavailable25 {
			t.Errorf("RolloutPods(%d, 25%%, 25%%) = %d, %d, want %d, %d", r.Replicas, extra, missing, r.MaxSurge25, r.MaxUnavailable25)
		}
	}
	if len(rows) < 10 {
		t.Errorf("%d rows in the oracle, want 10", len(rows))
	}
	if extra, missing := RolloutPods(6, Pods{}, Pods{Percent: 10}); extra != 0 || missing != 1 {
		t.Errorf("RolloutPods(6, 0, 10%%) = %d, %d, want 0, 1: a rollout must be able to move", extra, missing)
	}
}

func TestPodsReadWhatTheyWrite(t *testing.T) {
	for _, want := range []Pods{{}, {Count: 2}, {Percent: 25}} {
		b, err := want.MarshalText()
		var got Pods
		if err2 := got.UnmarshalText(b); err != nil || err2 != nil || got != want {
			t.Errorf("%v: %s, %v; %v, %v", want, b, err, got, err2)
		}
	}
	for _, in := range []string{"", "%", "-1", "25 %", "1.5", "99999999999999999999"} {
		var p Pods
		if err := p.UnmarshalText([]byte(in)); err == nil {
			t.Errorf("UnmarshalText(%q) = %v, want an error", in, p)
		}
	}
	if b, err := (Pods{Count: 1, Percent: 1}).MarshalText(); err == nil {
		t.Errorf("MarshalText of both = %s, want an error", b)
	}
}

func TestKeptConnectionsBoundTheDials(t *testing.T) {
	type row struct {
		Lambda, S, L number
		MaxIdle      int    `json:"max_idle"`
		P            number `json:"p_no_idle"`
		Dials        number `json:"new_conn_per_s"`
		TimeWait     number `json:"time_wait_sockets_60s"`
	}
	for _, r := range oracle[[]row](t, "churn.json", "") {
		p := DialChance(float64(r.L), r.MaxIdle)
		near(t, "DialChance", p, r.P)
		near(t, "dials", p*float64(r.Lambda), r.Dials)
		near(t, "in TIME_WAIT", p*float64(r.Lambda)*60, r.TimeWait)
	}
	for _, c := range []struct {
		load float64
		idle int
		want number
	}{{0, 0, 1}, {0, 1, 0}, {24, 0, 1}, {5000, 0, 1}, {5000, 3, 0.25}, {1e6, 3, 0.25}, {1e6, 0, 1}, {10, 1_000_000_000, 0}, {0, 5, 0}} {
		if got := DialChance(c.load, c.idle); math.Abs(got-float64(c.want)) > 0.001 {
			t.Errorf("DialChance(%v, %d) = %v, want about %v", c.load, c.idle, got, c.want)
		}
	}
	// Solved step by step for a load of 40,000, which takes too long for use.
	for idle, want := range map[int]float64{60: 0.016266978897332345, 200: 0.00457611581000516} {
		if got := DialChance(40_000, idle); math.Abs(got-want) > 1e-3*want {
			t.Errorf("DialChance(40000, %d) = %v, want %v to three digits", idle, got, want)
		}
	}
	ports := oracle[map[string]number](t, "formulas.json", "ports")
	near(t, "MaxDials(28232, 60)", MaxDials(28232, 60), ports["max_conn_per_s_per_4tuple"])
}

func TestPoissonTails(t *testing.T) {
	type row struct {
		K    int
		Mean number `json:"mean_requests"`
		P    number `json:"P_trip"`
	}
	for _, r := range oracle[[]row](t, "formulas.json", "trip_probability") {
		near(t, "PoissonAtLeast", PoissonAtLeast(r.K, float64(r.Mean)), r.P)
	}
	type headroom struct {
		A24  map[string]int    `json:"poisson_quantiles_a24"`
		A144 map[string]int    `json:"poisson_quantiles_a144"`
		Root map[string]number `json:"sqrt_staffing_a24"`
	}
	want := oracle[headroom](t, "formulas.json", "headroom")
	for mean, quantiles := range map[float64]map[string]int{24: want.A24, 144: want.A144} {
		for key, w := range quantiles {
			num, den, _ := strings.Cut(key, "/")
			a, _ := strconv.ParseFloat(num, 64)
			b, _ := strconv.ParseFloat(den, 64)
			if got := PoissonQuantile(mean, a/b); got != w {
				t.Errorf("PoissonQuantile(%v, %s) = %d, want %d", mean, key, got, w)
			}
		}
	}
	for key, w := range want.Root {
		z, _ := strconv.ParseFloat(strings.TrimPrefix(key, "z"), 64)
		if key == "z2.326" { // the name is short for the 99th percentile
			z = normal99
		}
		near(t, "SquareRootStaffing", SquareRootStaffing(24, z), w)
	}
	if got := PoissonQuantile(0, 0.99); got != 0 {
		t.Errorf("PoissonQuantile(0, 0.99) = %d, want 0", got)
	}
	if got := PoissonAtLeast(0, 5); got != 1 {
		t.Errorf("PoissonAtLeast(0, 5) = %v, want 1", got)
	}
}

func TestEjectionLoadsTheRest(t *testing.T) {
	type row struct {
		N, E   int
		Factor number
	}
	for _, r := range oracle[[]row](t, "formulas.json", "load_after_ejection") {
		if r.E < r.N {
			near(t, "LoadAfterEjection", LoadAfterEjection(r.N, r.E), r.Factor)
		}
	}
}
