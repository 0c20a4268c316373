package check

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
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
	for version, want := range map[string]int{"": 5, "1.29": 1, "v1.20.3": 1, "latest": 5} {
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

// ejecting is a rule that can eject this share of the hosts of a, in an API of Istio.
func ejecting(percent int, api string) string {
	return say("apiVersion: networking.istio.io/%s\nkind: DestinationRule\nmetadata: {name: a}\nspec: {host: a, trafficPolicy: {outlierDetection: {maxEjectionPercent: %d, minHealthPercent: 0}}}\n", api, percent)
}

func TestTheOldestIstioIsTriedToo(t *testing.T) {
	// Up to 1.2 the panic threshold was 50 where nobody set one, and 0 since.
	found := only(worldOf(t, "http", ejecting(60, "v1alpha3")), "O01")
	if len(found) != 1 || !found[0].Depends || !strings.Contains(found[0].Evidence, "so with Istio up to 1.2, not with Istio 1.3 to 1.18, Istio 1.19, ") {
		t.Errorf("O01 = %+v, want it for Istio up to 1.2", found)
	}
	w := worldOf(t, "http", ejecting(60, "v1alpha3"))
	w.Version = "1.3"
	if found := only(w, "O01"); len(found) != 0 {
		t.Errorf("O01 with Istio 1.3 = %+v, want none", found)
	}
}

func TestAnAPIRulesOutVersionsThatDoNotServeIt(t *testing.T) {
	for api, want := range map[string]string{"v1alpha3": "Istio up to 1.2", "v1beta1": "Istio 1.3 to 1.18", "v1": "Istio 1.20 to 1.30"} {
		w := worldOf(t, "http", ejecting(60, api))
		if got := w.Eras[0].Name; got != want {
			t.Errorf("the first era of an object in %s is %s, want %s", api, got, want)
		}
		if found := only(w, "O01"); api != "v1alpha3" && len(found) != 0 {
			t.Errorf("O01 in %s = %+v, want none: Istio up to 1.2 does not have it", api, found)
		}
	}
}

func TestTheVersionDecidesWhetherADistributionTurnsPanicOff(t *testing.T) {
	rule := strings.Replace(ejecting(20, "v1"), "minHealthPercent: 0", "minHealthPercent: 30", 1)
	service := "---\napiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {trafficDistribution: PreferClose, ports: [{port: 80}]}\n"
	found := only(worldOf(t, "http", rule+service), "O18")
	if len(found) != 1 || !strings.Contains(found[0].Evidence, "so with Istio 1.25 to 1.30, Istio 1.31 and later, not with Istio 1.20 to 1.24") {
		t.Errorf("O18 = %+v, want it since 1.25", found)
	}
	annotated := "---\napiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {networking.istio.io/traffic-distribution: PreferClose}}\nspec: {ports: [{port: 80}]}\n"
	if found := only(worldOf(t, "http", rule+annotated), "O18"); len(found) != 1 {
		t.Errorf("O18 = %+v, want it by the annotation too", found)
	}
	if found := only(worldOf(t, "http", rule+strings.Replace(service, "name: a", "name: b", 1)), "O18"); len(found) != 0 {
		t.Errorf("O18 = %+v, want none: the Service of another host has it", found)
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

// worldWith is a world of a contract's text.
func worldWith(t *testing.T, contractText, mesh string, o Options) *World {
	t.Helper()
	c, err := contract.Parse("f", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	return NewWorld(c, manifest.Parse("mesh.yaml", []byte(mesh)), o)
}

func TestARevisionIsAVersionOnlyIfItBeginsWithOne(t *testing.T) {
	const pod = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {template: {metadata: {labels: {istio.io/rev: REV}}, spec: {containers: [{name: a}, {name: p, image: 'x/proxyv2:TAG'}]}}}\n"
	for _, c := range []struct{ rev, tag, want string }{
		{"1-29-2", "", "1.29.2"},
		{"stable-1-29", "", ""},
		{"asm-1157-3", "", ""},
		{"default", "latest", ""},
		{"stable-1-29", "1.28.9-distroless", "1.28.9-distroless"},
		{"", "v1.30", "v1.30"},
	} {
		mesh := strings.NewReplacer("REV", c.rev, "TAG", c.tag).Replace(pod)
		if w := worldWith(t, "service: a\nreplicas: {min: 6}\nmesh: {controlPlane: istio}\n", mesh, Options{}); w.Version != c.want {
			t.Errorf("the version with revision %q and tag %q = %q, want %q", c.rev, c.tag, w.Version, c.want)
		}
	}
	if err := (Options{Version: "stable-1.29"}).Err(); err == nil {
		t.Error("stable-1.29 is taken for a version")
	}
}

func TestAnUnknownVersionNamesThoseThatRetry503(t *testing.T) {
	const (
		contractText = "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://b', rate: 60/s, latency: 100ms, busy: 503}\n"
		mesh         = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\nspec: {hosts: [b], http: [{route: [{destination: {host: b}}], timeout: 2s}]}\n"
	)
	for version, want := range map[string]string{"": "so with Istio up to 1.23, not with Istio 1.24 and later", "1.23.4": "busy=503", "1.24.0": ""} {
		found := only(worldWith(t, contractText, mesh, Options{Version: version}), "R03")
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0].Evidence, want)) {
			t.Errorf("R03 with version %q = %+v, want %q", version, found, want)
		}
	}
}
