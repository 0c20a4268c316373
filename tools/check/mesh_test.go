package check

import (
	"strings"
	"testing"
)

const bareRule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a}\nspec: {host: a}\n---\n"

func TestMeshDefaultsFillARuleSince131(t *testing.T) {
	const contractText = "service: a\nreplicas: {min: 24}\n"
	const defaults = "defaultTrafficPolicy: {outlierDetection: {consecutive5xxErrors: 1}}\n"
	for version, want := range map[string]int{"1.30.2": 0, "1.31.0": 1} {
		if found := only(worldWith(t, contractText, bareRule+defaults, Options{Version: version}), "O09"); len(found) != want {
			t.Errorf("O09 with Istio %s = %+v, want %d", version, found, want)
		}
	}
}

func TestLocalityIsTurnedOffForTheWholeMesh(t *testing.T) {
	const contractText = "service: a\nreplicas: {min: 6}\ndoor: {inFlight: 4, latency: 100ms}\n" +
		"callers: {c: {rate: 180/s, replicas: 6, zones: {x: 80%, y: 20%}}}\nmesh: {zones: 2}\n"
	rule := strings.Replace(bareRule, "host: a", "host: a, trafficPolicy: {outlierDetection: {maxEjectionPercent: 20}}", 1)
	for config, want := range map[string]int{
		"": 1,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata: {mesh: 'localityLbSetting: {enabled: false}'}\n": 0,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata: {mesh: 'localityLbSetting: {enabled: true}'}\n":  1,
	} {
		if found := only(worldWith(t, contractText, rule+config, Options{Version: "1.30"}), "O14"); len(found) != want {
			t.Errorf("O14 with %q = %+v, want %d", config, found, want)
		}
	}
}

func TestAnUnsetEjectionCapIsTen(t *testing.T) {
	for replicas, want := range map[string]int{"9": 1, "10": 0} {
		contractText := "service: a\nreplicas: {min: " + replicas + "}\n"
		rule := strings.Replace(bareRule, "host: a", "host: a, trafficPolicy: {outlierDetection: {interval: 10s}}", 1)
		if found := only(worldWith(t, contractText, rule, Options{Version: "1.30"}), "O05"); len(found) != want {
			t.Errorf("O05 of %s hosts = %+v, want %d", replicas, found, want)
		}
	}
}

func TestAFindingInEveryEraNamesNone(t *testing.T) {
	rule := strings.Replace(bareRule, "host: a", "host: a, trafficPolicy: {outlierDetection: {maxEjectionPercent: 100}}", 1)
	found := only(worldWith(t, "service: a\nreplicas: {min: 9}\n", rule, Options{}), "O03")
	if len(found) != 1 || found[0].Depends || strings.Contains(found[0].Evidence, "version") {
		t.Errorf("O03 = %+v, want it without versions: it fires in all that know the API", found)
	}
}

func TestAPodWithoutAReadinessProbeIsNotGated(t *testing.T) {
	const pod = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: aPROBE}]}}}\n"
	const contractText = "service: a\nreplicas: {min: 6}\nstart: {warm: 3s}\n"
	for probe, want := range map[string]int{"": 1, ", readinessProbe: {httpGet: {path: /readyz, port: 80}}": 0} {
		if found := only(worldWith(t, contractText, strings.Replace(pod, "PROBE", probe, 1), Options{}), "K01"); len(found) != want {
			t.Errorf("K01 with %q = %+v, want %d", probe, found, want)
		}
	}
}

func TestTheCallerWithMostAttemptsMultiplies(t *testing.T) {
	const contractText = "service: a\nreplicas: {min: 6}\ncallers: {b: {deadline: 9s, attempts: 3}, c: {deadline: 9s}}\n" +
		"upstreams:\n  d: {target: 'http://d', rate: 6/s, latency: 100ms, attempts: 2}\n"
	found := only(worldWith(t, contractText, "", Options{}), "R01")
	if len(found) != 1 || !strings.Contains(found[0].Evidence, "3 x 2 = 6 upstream attempts") {
		t.Errorf("R01 = %+v, want 3 x 2 by way of b", found)
	}
}

func TestGRPCTellsTheProxyItsDeadline(t *testing.T) {
	rule := strings.NewReplacer("name: a", "name: b", "host: a", "host: b, trafficPolicy: {outlierDetection: {interval: 10s}}").Replace(bareRule)
	for protocol, want := range map[string]int{"http": 1, "grpc": 0} {
		if found := only(worldOf(t, protocol, rule), "T06"); len(found) != want {
			t.Errorf("T06 of %s = %+v, want %d", protocol, found, want)
		}
	}
}

func TestAChannelIsOneConnectionWhateverTheClientSays(t *testing.T) {
	const contractText = "service: a\nreplicas: {min: 1}\nupstreams:\n  b: {target: 'b:80', protocol: grpc, rate: 1500/s, latency: 100ms, client: {maxConns: 10, timeout: 1s}}\n"
	if found := only(worldWith(t, contractText, "", Options{}), "C12"); len(found) != 1 || !strings.Contains(found[0].Evidence, "50 wait") {
		t.Errorf("C12 = %+v, want 50 of 150 calls waiting for one connection", found)
	}
}

func TestARouteOfAGatewayIsNotOnTheWayOut(t *testing.T) {
	const route = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: b}\nspec: {parentRefs: [PARENT], rules: [{backendRefs: [{name: b, port: 80}], timeouts: {request: 0s}}]}\n"
	for _, c := range []struct {
		plane ControlPlane
		kind  string
		want  int
	}{
		{"istio", "{name: edge}", 0},
		{"istio", "{name: edge, kind: Gateway}", 0},
		{"istio", "{name: b, kind: Service, group: ''}", 1},
		{"envoy-gateway", "{name: edge}", 1},
	} {
		w := worldWith(t, "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://b', rate: 60/s, latency: 100ms}\n", strings.Replace(route, "PARENT", c.kind, 1), Options{Plane: c.plane})
		if found := only(w, "T03"); len(found) != c.want {
			t.Errorf("T03 with %s on %s = %+v, want %d", c.kind, c.plane, found, c.want)
		}
	}
}
