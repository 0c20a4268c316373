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
