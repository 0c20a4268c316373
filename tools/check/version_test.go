package check

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

func TestEffectiveMaxEjectedFollowsTheImplementation(t *testing.T) {
	var rows []struct {
		N     int
		M     int  `json:"maxEjectionPercent"`
		New   int  `json:"envoy>=1.28"`
		One   int  `json:"envoy>=1.31+always_eject_one"`
		E127  int  `json:"envoy1.27"`
		Older int  `json:"envoy<=1.26"`
		GRPC  int  `json:"grpc-go"`
		Panic bool `json:"panic50_strict"`
	}
	read(t, "emax.json", &rows)
	if len(rows) != 84 {
		t.Fatalf("%d rows, want 84", len(rows))
	}
	for _, r := range rows {
		for by, want := range map[Ejector]int{Envoy128: r.New, EnvoyOne: r.One, Envoy127: r.E127, EnvoyOlder: r.Older, GRPCGo: r.GRPC} {
			if got := EffectiveMaxEjected(r.N, r.M, by); got != want {
				t.Errorf("EffectiveMaxEjected(%d, %d, %s) = %d, want %d", r.N, r.M, by, got, want)
			}
		}
		if got := Panics(r.N, r.N-r.New, 50); got != r.Panic {
			t.Errorf("Panics(%d, %d, 50) = %v, want %v", r.N, r.N-r.New, got, r.Panic)
		}
	}
}

func TestPanicIsStrictlyBelowTheThreshold(t *testing.T) {
	var rows []struct {
		N, Healthy, Thr int
		Panic           bool
	}
	read(t, "panic.json", &rows)
	for _, r := range rows {
		if got := Panics(r.N, r.Healthy, r.Thr); got != r.Panic {
			t.Errorf("Panics(%d, %d, %d) = %v, want %v", r.N, r.Healthy, r.Thr, got, r.Panic)
		}
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(err)
	}
}

func TestEffectivePanicFollowsTheControlPlane(t *testing.T) {
	seven := 7
	for _, c := range []struct {
		plane  ControlPlane
		minor  int
		policy PanicPolicy
		want   int
	}{
		{"envoy", 28, PanicPolicy{Outlier: true}, 50},
		{"envoy-gateway", 0, PanicPolicy{}, 50},
		{"envoy", 28, PanicPolicy{Explicit: &seven}, 7},
		{"contour", 0, PanicPolicy{Outlier: true}, 0},
		{"consul", 0, PanicPolicy{}, 0},
		{"istio", 2, PanicPolicy{Outlier: true}, 50},
		{"istio", 2, PanicPolicy{Outlier: true, MinHealth: 30}, 30},
		{"istio", 3, PanicPolicy{Outlier: true}, 0},
		{"istio", 3, PanicPolicy{Outlier: true, MinHealth: 50}, 50},
		{"istio", 24, PanicPolicy{Outlier: true, MinHealth: 50, Distribution: true}, 50},
		{"istio", 25, PanicPolicy{Outlier: true, MinHealth: 50, Distribution: true}, 0},
		{"istio", 29, PanicPolicy{Outlier: true, MinHealth: 50, SendsUnready: true}, 0},
		{"istio", 30, PanicPolicy{}, 50},
		{"istio", 31, PanicPolicy{}, 0},
		{"istio", 31, PanicPolicy{Outlier: true, MinHealth: 50}, 50},
	} {
		if got := EffectivePanic(c.plane, c.minor, c.policy); got != c.want {
			t.Errorf("EffectivePanic(%s, %d, %+v) = %d, want %d", c.plane, c.minor, c.policy, got, c.want)
		}
	}
}

func TestAnUnknownVersionHasItsEras(t *testing.T) {
	for version, want := range map[string]int{"": 4, "1.29": 1, "v1.20.3": 1, "latest": 4} {
		if got := erasOf("istio", version); len(got) != want {
			t.Errorf("erasOf(istio, %q) = %v, want %d", version, got, want)
		}
	}
	if got := erasOf("istio", "1.18.2")[0].Ejector; got != EnvoyOlder {
		t.Errorf("erasOf(istio, 1.18.2) ejects like %s, want %s", got, EnvoyOlder)
	}
	if got := erasOf("grpc", "")[0].Ejector; got != GRPCGo {
		t.Errorf("erasOf(grpc) ejects like %s, want %s", got, GRPCGo)
	}
}

func TestPausesAreEnvoys(t *testing.T) {
	for attempts, want := range map[int]float64{1: 0, 2: 0.025, 3: 0.1, 4: 0.275, 5: 0.525, 6: 0.775} {
		if got := attemptsWithin(attempts, 1, 8).Pauses; got < want-1e-12 || got > want+1e-12 {
			t.Errorf("attemptsWithin(%d).Pauses = %v, want %v", attempts, got, want)
		}
	}
	if got := attemptsWithin(1<<31-1, 1, 8).Pauses; got < 1e8 {
		t.Errorf("attemptsWithin(2147483647).Pauses = %v, want a number at once", got)
	}
}

func TestOptionsReportAllMistakes(t *testing.T) {
	for _, o := range []Options{{}, {Plane: "envoy-gateway", Version: "v1.5"}, {Plane: "istio", Version: "1.29.2-distroless"}} {
		if err := o.Err(); err != nil {
			t.Errorf("%+v.Err() = %v, want none", o, err)
		}
	}
	err := Options{Plane: "istoi", Version: "latest"}.Err()
	if err == nil || !strings.Contains(err.Error(), `"istoi"`) || !strings.Contains(err.Error(), `"latest"`) {
		t.Errorf("Err() = %v, want both the plane and the version", err)
	}
}
