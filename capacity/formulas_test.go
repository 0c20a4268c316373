package capacity

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The files in testdata were computed with 40 digits by other means than this
// package's: number is one of them, written as a number or as a string.
type number float64

func (n *number) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	*n = number(f)
	return err
}

func oracle[T any](t *testing.T, file, key string) T {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		var all map[string]json.RawMessage
		if err := json.Unmarshal(b, &all); err != nil {
			t.Fatal(err)
		}
		b = all[key]
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%s: %s: %v", file, key, err)
	}
	return v
}

// near compares to 1e-9 relative, or to the 30th decimal, where the files end.
func near(t *testing.T, what string, got float64, want number) {
	t.Helper()
	w := float64(want)
	if !(math.Abs(got-w) <= max(1e-9*math.Abs(w), 1e-30)) {
		t.Errorf("%s = %.15g, want %.15g", what, got, w)
	}
}

func TestLittleAndItsConverses(t *testing.T) {
	want := oracle[map[string]map[string]number](t, "formulas.json", "little")
	near(t, "Little(120, 1.2)", Little(120, 1.2), want["inc1187_peak"]["L"])
	near(t, "Little(120, 0.3)/6", Little(120, 0.3)/6, want["inc1187_normal_0.3s"]["per_replica"])
	near(t, "Little(240, 1.2)", Little(240, 1.2), want["inc1187_2x"]["L"])
	limit, ten := want["limit200"], want["cap10"]
	near(t, "MaxRate(200, 1.2)", MaxRate(200, 1.2), limit["max_rate_at_1.2s"])
	near(t, "MaxRate(198, 1.2)", MaxRate(198, 1.2), limit["rate_at_33x6"])
	near(t, "CriticalLatency(200, 240)", CriticalLatency(200, 240), limit["max_latency_at_240rps"])
	near(t, "CriticalLatency(200, 120)", CriticalLatency(200, 120), limit["max_latency_at_120rps"])
	near(t, "CriticalLatency(60, 120)", CriticalLatency(60, 120), ten["critical_latency_120rps"])
	near(t, "CriticalLatency(60, 25)", CriticalLatency(60, 25), ten["critical_latency_25rps"])
	near(t, "Loss(60, 144)", Loss(60, 144), ten["fluid_loss_120rps_1.2s"])
	near(t, "FillTime(440, 120, 50)", FillTime(440, 120, 50), ten["time_to_first_timeout_s"])
	if got := Loss(60, 60); got != 0 {
		t.Errorf("Loss(60, 60) = %v, want 0", got)
	}
}

func TestQueuesFillAndDrain(t *testing.T) {
	type queue struct {
		Q, Mu, Lam, T number
		QueueCap      number `json:"queue_cap"`
	}
	for _, q := range oracle[[]queue](t, "formulas.json", "drain") {
		near(t, "DrainTime", DrainTime(int(q.Q), float64(q.Mu), float64(q.Lam)), q.T)
	}
	for _, q := range oracle[[]queue](t, "formulas.json", "overflow") {
		near(t, "FillTime", FillTime(int(q.QueueCap), float64(q.Lam), float64(q.Mu)), q.T)
	}
	if got := DrainTime(1, 50, 50); !math.IsInf(got, 1) {
		t.Errorf("DrainTime(1, 50, 50) = %v, want +Inf", got)
	}
}

func TestErlangAndTheWaits(t *testing.T) {
	groups := oracle[map[string]json.RawMessage](t, "formulas.json", "mmc")
	seen := 0
	for _, raw := range groups {
		var rows []map[string]any
		if json.Unmarshal(raw, &rows) != nil {
			rows = []map[string]any{nil}
			if err := json.Unmarshal(raw, &rows[0]); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range rows {
			f := func(key string) float64 {
				if s, ok := row[key].(string); ok {
					x, _ := strconv.ParseFloat(s, 64)
					return x
				}
				return row[key].(float64)
			}
			if row["stable"] == false {
				if got := ErlangC(int(f("c")), f("a")); got != 1 {
					t.Errorf("ErlangC(%v, %v) = %v, want 1", f("c"), f("a"), got)
				}
				near(t, "Loss", Loss(int(f("c")), f("a")), number(f("fluid_loss")))
				continue
			}
			seen++
			c, rate, latency := int(f("c")), f("lambda"), f("S")
			near(t, "ErlangB", ErlangB(c, f("a")), number(f("erlangB")))
			near(t, "ErlangC", ErlangC(c, f("a")), number(f("erlangC")))
			near(t, "MeanWait", MeanWait(c, rate, latency), number(f("Wq")))
			for key := range row {
				arg := func(prefix string) (float64, bool) {
					s, ok := strings.CutPrefix(key, prefix)
					x, _ := strconv.ParseFloat(s, 64)
					return x, ok
				}
				if p, ok := arg("wait_p"); ok {
					near(t, "WaitPercentile", WaitPercentile(c, rate, latency, p/100), number(f(key)))
				}
				if x, ok := arg("P_wait_gt_"); ok {
					near(t, "WaitBeyond", WaitBeyond(c, rate, latency, x), number(f(key)))
				}
				if p, ok := arg("sojourn_p"); ok {
					near(t, "CallPercentile", CallPercentile(c, rate, latency, p/100), number(f(key)))
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("%d stable rows in the oracle, want at least 15", seen)
	}
}

func TestPlacesForATarget(t *testing.T) {
	want := oracle[map[string]int](t, "formulas.json", "min_servers")
	for _, c := range []struct {
		key                         string
		rate, latency, wait, chance float64
	}{
		{"20rps_1.2s_P(wait>0)<=1%", 20, 1.2, 0, 0.01},
		{"20rps_1.2s_P(wait>0.1s)<=1%", 20, 1.2, 0.1, 0.01},
		{"20rps_1.2s_P(wait>0.5s)<=5%", 20, 1.2, 0.5, 0.05},
		{"40rps_1.2s_P(wait>0)<=1%", 40, 1.2, 0, 0.01},
		{"120rps_pooled_1.2s_P(wait>0)<=1%", 120, 1.2, 0, 0.01},
		{"20rps_0.3s_P(wait>0)<=1%", 20, 0.3, 0, 0.01},
	} {
		if got, err := PlacesForWait(c.rate, c.latency, c.wait, c.chance); err != nil || got != want[c.key] {
			t.Errorf("PlacesForWait(%v, %v, %v, %v) = %d, %v, want %d", c.rate, c.latency, c.wait, c.chance, got, err, want[c.key])
		}
		if c.wait > 0 {
			continue
		}
		if got, err := PlacesFor(c.rate*c.latency, c.chance); err != nil || got != want[c.key] {
			t.Errorf("PlacesFor(%v, %v) = %d, %v, want %d", c.rate*c.latency, c.chance, got, err, want[c.key])
		}
	}
}

func TestErlangHoldsAtAHundredThousandPlaces(t *testing.T) {
	// The inverse by an independent series, summed from its largest term down:
	// 1/B = Σ c!/(c−k)!/aᵏ.
	const places, load = 100_000, 99_500.0
	inverse, term := 0.0, 1.0
	for k := 0; k <= places && term > 0; k++ {
		inverse += term
		term *= float64(places-k) / load
	}
	near(t, "ErlangB(100000, 99500)", ErlangB(places, load), number(1/inverse))
	n, err := PlacesFor(load, 0.05)
	if err != nil || ErlangC(n, load) > 0.05 || ErlangC(n-1, load) <= 0.05 {
		t.Errorf("PlacesFor(%v, 0.05) = %d, %v with chances %v and, one less, %v", load, n, err, ErlangC(n, load), ErlangC(n-1, load))
	}
}

func TestFormulasRefuseWhatIsOutsideTheirDomain(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, got := range map[string]float64{
		"Little(-1, 1)":                  Little(-1, 1),
		"Little(1, NaN)":                 Little(1, nan),
		"MaxRate(1, 0)":                  MaxRate(1, 0),
		"CriticalLatency(1, 0)":          CriticalLatency(1, 0),
		"Loss(-1, 1)":                    Loss(-1, 1),
		"Loss(1, NaN)":                   Loss(1, nan),
		"FillTime(1, NaN, 1)":            FillTime(1, nan, 1),
		"SquareRootStaffing(-1, 1)":      SquareRootStaffing(-1, 1),
		"LoadAfterEjection(1, 2)":        LoadAfterEjection(1, 2),
		"ErlangB(-1, 1)":                 ErlangB(-1, 1),
		"ErlangB(1, Inf)":                ErlangB(1, inf),
		"ErlangC(1, NaN)":                ErlangC(1, nan),
		"ErlangC(1, Inf)":                ErlangC(1, inf),
		"MeanWait(0, 1, 1)":              MeanWait(0, 1, 1),
		"WaitBeyond(1, 1, 1, -1)":        WaitBeyond(1, 1, 1, -1),
		"WaitPercentile(1, 0.5, 1, 1)":   WaitPercentile(1, 0.5, 1, 1),
		"CallBeyond(1, 0.5, 1, NaN)":     CallBeyond(1, 0.5, 1, nan),
		"CallPercentile(1, 0.5, 1, 1)":   CallPercentile(1, 0.5, 1, 1),
		"AllenCunneen(1, 0.5, 1, -1, 1)": AllenCunneen(1, 0.5, 1, -1, 1),
		"Sakasegawa(0, 0.5, 1, 1, 1)":    Sakasegawa(0, 0.5, 1, 1, 1),
		"Bounded(1, -1, 1, 1)":           Bounded(1, -1, 1, 1).Refused,
		"FitLognormal(2, 1)":             FitLognormal(2, 1).Mean(),
		"Collapse(1, 0, Constant(1), 1)": Collapse(1, 0, Constant(1), 1).Success,
		"RetryLoad(1.1, 2)":              RetryLoad(1.1, 2),
		"BudgetLoad(1)":                  BudgetLoad(1),
		"RetryOverload(0, 1, 2)":         RetryOverload(0, 1, 2).Load,
		"DialChance(-1, 1)":              DialChance(-1, 1),
		"DialChance(1, -1)":              DialChance(1, -1),
		"MaxDials(1, 0)":                 MaxDials(1, 0),
		"PoissonAtLeast(1, NaN)":         PoissonAtLeast(1, nan),
	} {
		if !math.IsNaN(got) {
			t.Errorf("%s = %v, want NaN", name, got)
		}
	}
	for name, got := range map[string]float64{
		"MeanWait(1, 1, 1)":            MeanWait(1, 1, 1),
		"WaitPercentile(1, 2, 1, 0.5)": WaitPercentile(1, 2, 1, 0.5),
		"CallPercentile(1, 2, 1, 0.5)": CallPercentile(1, 2, 1, 0.5),
		"Sakasegawa(1, 1, 1, 1, 1)":    Sakasegawa(1, 1, 1, 1, 1),
		"LoadAfterEjection(3, 3)":      LoadAfterEjection(3, 3),
	} {
		if !math.IsInf(got, 1) {
			t.Errorf("%s = %v, want +Inf", name, got)
		}
	}
	if got := PoissonQuantile(-1, 0.5); got != -1 {
		t.Errorf("PoissonQuantile(-1, 0.5) = %d, want -1", got)
	}
	for _, c := range []struct{ load, chance float64 }{{-1, 0.5}, {nan, 0.5}, {1e6, 0.5}, {1, 0}, {1, nan}, {1, 1.5}, {999_999, 1e-9}} {
		if got, err := PlacesFor(c.load, c.chance); err == nil {
			t.Errorf("PlacesFor(%v, %v) = %d, want an error", c.load, c.chance, got)
		}
	}
	if got, err := PlacesForWait(nan, 1, 1, 0.5); err == nil {
		t.Errorf("PlacesForWait(NaN, 1, 1, 0.5) = %d, want an error", got)
	}
}

func TestApproximationsForOtherShapes(t *testing.T) {
	type row struct {
		C                   int
		Lambda, S, Ca2, Cs2 number
		A                   number `json:"Wq_allen_cunneen"`
		B                   number `json:"Wq_sakasegawa"`
	}
	for _, r := range oracle[[]row](t, "formulas.json", "allen_cunneen") {
		near(t, "AllenCunneen", AllenCunneen(r.C, float64(r.Lambda), float64(r.S), float64(r.Ca2), float64(r.Cs2)), r.A)
		near(t, "Sakasegawa", Sakasegawa(r.C, float64(r.Lambda), float64(r.S), float64(r.Ca2), float64(r.Cs2)), r.B)
	}
}

func TestBoundedQueueRefusesAndWaits(t *testing.T) {
	type row struct {
		C, K      int
		Lambda, S number
		Refused   number `json:"P_block"`
		Accepted  number `json:"accepted_rate"`
		Waiting   number `json:"Lq"`
		Wait      number `json:"Wq_accepted"`
		Chance    number `json:"P_wait_accepted"`
		Util      number
	}
	for _, r := range oracle[[]row](t, "formulas.json", "mmck") {
		got := Bounded(r.C, r.K-r.C, float64(r.Lambda), float64(r.S))
		near(t, "Refused", got.Refused, r.Refused)
		near(t, "Accepted", got.Accepted, r.Accepted)
		near(t, "Waiting", got.Waiting, r.Waiting)
		near(t, "Wait", got.Wait, r.Wait)
		near(t, "WaitChance", got.WaitChance, r.Chance)
		near(t, "Utilization", got.Utilization, r.Util)
	}
	long := Bounded(10, 1_000_000, 20, 1.2)
	near(t, "Bounded with a queue of a million", long.Refused, number(Loss(10, 24)))
}

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
	}{{0, 0, 1}, {0, 1, 0}, {24, 0, 1}, {5000, 0, 1}, {5000, 3, 0.25}} {
		if got := DialChance(c.load, c.idle); math.Abs(got-float64(c.want)) > 0.001 {
			t.Errorf("DialChance(%v, %d) = %v, want about %v", c.load, c.idle, got, c.want)
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
