package simreport

import (
	"bytes"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/capacity/simulate/scenario"
)

func TestSweepReadsRangesAndLists(t *testing.T) {
	for _, test := range []struct {
		in, key string
		values  []string
	}{
		{"maxEjectionPercent=10..100/30", "proxy.outlier.maxEjectionPercent", []string{"10", "40", "70", "100"}},
		{"proxy.perTry=500ms..2000ms/500ms", "proxy.perTry", []string{"500ms", "1000ms", "1500ms", "2000ms"}},
		{"service.client.pool.queue=none,5,unbounded", "service.client.pool.queue", []string{"none", "5", "unbounded"}},
		{"panicThreshold=0..0.3/0.1", "proxy.panicThreshold", []string{"0", "0.1", "0.2", "0.3"}},
	} {
		s, err := parseSweep(test.in)
		if err != nil || s.Key != test.key || !slices.Equal(s.Values, test.values) {
			t.Errorf("parseSweep(%q) = %+v, %v, want %s with %q", test.in, s, err, test.key, test.values)
		}
	}
	for in, want := range map[string]string{
		"maxEjectionPercent":           "has no values",
		"timeout=1s,2s":                "may be any of callers.timeout, proxy.timeout, proxy.healthCheck.timeout, service.liveness.timeout",
		"perTry=1s..5ms/1s":            "different units",
		"maxEjectionPercent=50..10/10": "upwards",
		"maxEjectionPercent=1..10/0":   "upwards",
		"maxEjectionPercent=1..1e9/1":  "neither a range nor a list",
		"maxEjectionPercent=10,":       "neither a range nor a list",
		"events=1,2":                   "no key",
	} {
		if _, err := parseSweep(in); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parseSweep(%q) = %v, want an error with %q", in, err, want)
		}
	}
}

func FuzzParseSweep(f *testing.F) {
	f.Add("maxEjectionPercent=10..100/10")
	f.Add("perTry=1s,2s")
	f.Add("perTry=1s..1s/1s")
	f.Fuzz(func(t *testing.T, in string) {
		s, err := parseSweep(in)
		if err == nil && (len(s.Values) == 0 || len(s.Values) > maxValues || slices.Contains(s.Values, "")) {
			t.Errorf("parseSweep(%q) has %d values: %q", in, len(s.Values), s.Values)
		}
	})
}

func TestTicksAreRoundAndReachTheTop(t *testing.T) {
	for highest, want := range map[float64][]string{
		0:     {"0", "0.5", "1"},
		60:    {"0", "20", "40", "60"},
		2471:  {"0", "1000", "2000", "3000"},
		0.066: {"0", "0.02", "0.04", "0.06", "0.08"},
		24:    {"0", "10", "20", "30"},
		1:     {"0", "0.5", "1"},
		12000: {"0", "5000", "10k", "15k"},
	} {
		ticks, top := valueTicks(highest, "")
		var got []string
		for _, t := range ticks {
			got = append(got, t.Label)
		}
		if !slices.Equal(got, want) || top < highest {
			t.Errorf("valueTicks(%g) = %q up to %g, want %q", highest, got, top, want)
		}
	}
}

func TestTimesAreLabelledInTheirUnit(t *testing.T) {
	for length, want := range map[float64]string{
		30:    "0 5s 10s 15s 20s 25s 30s",
		780:   "0 2m 4m 6m 8m 10m 12m",
		7200:  "0 15m 30m 45m 1h00m 1h15m 1h30m 1h45m 2h00m",
		86400: "0 6h 12h 18h 24h",
	} {
		var got []string
		for _, t := range timeTicks(length) {
			got = append(got, t.Label)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("timeTicks(%g) = %s, want %s", length, s, want)
		}
	}
}

func TestSparklineShowsASpike(t *testing.T) {
	values := make([]float64, 240)
	values[120] = 100
	values[10] = 1
	got := []rune(sparkline(values, 24))
	if len(got) != 24 || got[12] != '█' || got[1] != '▁' || got[5] != ' ' {
		t.Errorf("sparkline = %q, want a full bar in the middle and a low one early", string(got))
	}
}

func TestNumbersReadWithAboutThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.0123: "0.012", 3: "3", 3.14159: "3.1", 42.42: "42.4", 1234: "1234", 45678: "45.7k", 2.5e6: "2.5M"} {
		if got := short(x); got != want {
			t.Errorf("short(%g) = %q, want %q", x, got, want)
		}
	}
	for x, want := range map[float64]string{0: "0 %", 0.00001: "under 0.01 %", 0.0008: "0.08 %", 0.0123: "1.2 %", 0.821: "82 %", 1: "100 %"} {
		if got := strings.ReplaceAll(percent(x), "\u00a0", " "); got != want {
			t.Errorf("percent(%g) = %q, want %q", x, got, want)
		}
	}
}

func TestChangesListsWhatDiffers(t *testing.T) {
	a, b := &scenario.File{Name: "a"}, &scenario.File{Name: "b"}
	a.Service.Client.Pool = simulate.Gate{Places: 10, Queue: simulate.Unbounded}
	b.Service.Client.Pool = simulate.Gate{Places: 28, Wait: time.Second}
	b.Service.Busy = simulate.Answer429
	b.Proxy.Outlier = &simulate.Outlier{MaxEjectionPercent: 40}
	want := []change{
		{"proxy.outlier.maxEjectionPercent", "–", "40"},
		{"proxy.outlier.capRule", "–", "floor"},
		{"service.client.pool.places", "10", "28"},
		{"service.client.pool.wait", "–", "1s"},
		{"service.busy", "503", "429"},
		{"service.client.pool.queue", "unbounded", "–"},
	}
	if got := changes(a, b); !reflect.DeepEqual(got, want) {
		t.Errorf("changes = %q, want %q", got, want)
	}
}

func TestDiffSaysWhatChangesForTheCaller(t *testing.T) {
	read := func(inFlight string) *contract.Contract {
		c, err := contract.Parse("offtake.yaml", []byte(`service: payment-gateway
replicas: {min: 6}
callers: {checkout: {rate: 20/s, deadline: 8s, attempts: 2}}
upstreams:
  card-processor: {target: "https://processor.example", rate: 20/s, latency: 300ms, degraded: 1200ms, inFlight: `+inFlight+`}
`), "")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	var b bytes.Buffer
	if err := Diff(t.Context(), read("6"), read("2"), &b); err != nil {
		t.Fatal(err)
	}
	peak, degraded, ok := strings.Cut(b.String(), "card-processor at peak, with a latency of 1.2s\n")
	if !ok || !strings.HasPrefix(peak, "card-processor at peak\n") {
		t.Fatalf("Diff writes %q, want a part at peak and one with 1.2s", b.String())
	}
	if !strings.Contains(degraded, "calls that failed") || !strings.Contains(degraded, "→") {
		t.Errorf("with a latency of 1.2 s Diff writes %q, want more calls that fail", degraded)
	}
	b.Reset()
	if err := Diff(t.Context(), read("6"), read("6"), &b); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "nothing changes for the caller"); n != 2 {
		t.Errorf("Diff of a contract with itself writes %q, want that nothing changes, twice", b.String())
	}
}
