package check

import (
	"testing"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// worldOf is a service "a" that calls "b", with manifests.
func worldOf(t *testing.T, protocol, mesh string) *World {
	t.Helper()
	text := "service: a\nreplicas: {min: 6}\ncallers: {c: {deadline: 8s, rate: 60/s}}\nupstreams:\n  b: {target: 'http://b', rate: 60/s, latency: 100ms}\n"
	if protocol == "grpc" {
		text = "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'b:80', protocol: grpc, rate: 60/s, latency: 100ms}\n"
	}
	c, err := contract.Parse("f", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	set := manifest.Parse("mesh.yaml", []byte(mesh))
	for _, p := range set.Problems {
		t.Fatalf("%v: %s", p.Ref, p.Text)
	}
	return NewWorld(c, set, Options{})
}

func TestEnvoyGatewayHasItsOwnDefaults(t *testing.T) {
	w := worldOf(t, "http", `apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: b}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: b}]
  timeout: {tcp: {connectTimeout: 2s}, http: {requestTimeout: 4s}}
  retry: {numRetries: 3, perRetry: {timeout: 1s}, retryOn: {triggers: ["5xx"], httpStatusCodes: [429]}}
  circuitBreaker: {maxParallelRequests: 50}
  healthCheck: {passive: {maxEjectionPercent: 0, alwaysEjectOneEndpoint: true}}
`)
	c := w.Calls[0]
	if w.Plane != "envoy-gateway" || c.Policy == nil || c.Route == nil {
		t.Fatalf("plane %q, call %+v, want Envoy Gateway's policy and route", w.Plane, c)
	}
	d := c.Policy.Detector
	if d.Interval != 3 || d.Base != 30 || d.Max != 10 || d.Stated == nil || *d.Stated != 0 || d.Consecutive5xx != 5 || !d.AlwaysOne {
		t.Errorf("detector = %+v, want an interval of 3 s and 10 %% for the stated 0", d)
	}
	if c.Policy.MaxRequests != 50 || c.Policy.MaxConnections != 1024 || c.Policy.ConnectTimeout != 2 {
		t.Errorf("policy = %+v, want a breaker of 50 requests and 1024 connections", c.Policy)
	}
	r := c.Route
	if r.Timeout != 4 || r.PerTry != 1 || r.Tries != 4 || r.Stated != 3 || r.On != "5xx,429" {
		t.Errorf("route = %+v, want 4 tries of 1 s within 4 s on 5xx and 429", r)
	}
	if got := w.threshold(c.Policy, w.Eras[0]); got != 50 {
		t.Errorf("threshold = %d, want Envoy's 50", got)
	}
	if got := w.eras(c.Policy)[0].Ejector; got != EnvoyOne {
		t.Errorf("ejector = %s, want %s", got, EnvoyOne)
	}
}

const httpRouteText = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec:
  rules:
    - backendRefs: [{name: b, port: 80}]
      timeouts: {request: 3s, backendRequest: 1s}
`

const destination = `---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: other}
spec: {host: other}
`

func TestHTTPRouteMeansAnotherThingToIstio(t *testing.T) {
	for _, c := range []struct {
		name, mesh      string
		timeout, perTry float64
		tries           int
	}{
		{"a gateway takes both timeouts", httpRouteText, 3, 1, 1},
		{"Istio takes backendRequest for the whole", httpRouteText + destination, 1, 0, 3},
		{"but not with a retry stanza", httpRouteText + "      retry: {attempts: 1, codes: [503]}\n" + destination, 3, 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := worldOf(t, "http", c.mesh).Calls[0].Route
			if r == nil || r.Timeout != c.timeout || r.PerTry != c.perTry || r.Tries != c.tries {
				t.Errorf("route = %+v, want %g s, %g s per try, %d tries", r, c.timeout, c.perTry, c.tries)
			}
		})
	}
}

func TestGRPCCountsAttemptsAndStopsAtFive(t *testing.T) {
	config := `{"methodConfig":[{"name":[{}],"timeout":"1.5s","retryPolicy":{"maxAttempts":9,"retryableStatusCodes":["UNAVAILABLE","RESOURCE_EXHAUSTED"]}}]}`
	r := worldOf(t, "grpc", config).Calls[0].Route
	if r == nil || r.Tries != 5 || r.Stated != 9 || r.Timeout != 1.5 || r.On != "unavailable,resource-exhausted" {
		t.Errorf("route = %+v, want 5 tries of the stated 9", r)
	}
	if r := worldOf(t, "http", config).Calls[0].Route; r != nil {
		t.Errorf("route of an HTTP upstream = %+v, want none from a gRPC service config", r)
	}
}

func TestEnvoysOwnDefaults(t *testing.T) {
	w := worldOf(t, "http", `name: b
connect_timeout: 0.25s
common_lb_config: {healthy_panic_threshold: {value: 40}}
circuit_breakers: {thresholds: [{max_requests: 30, retry_budget: {min_retry_concurrency: 2}}]}
outlier_detection: {consecutive_5xx: 3, enforcing_consecutive_gateway_failure: 0, max_ejection_percent: 30, interval: 5s}
`)
	c := w.Calls[0]
	if w.Plane != "envoy" || c.Policy == nil {
		t.Fatalf("plane %q, call %+v, want Envoy's policy", w.Plane, c)
	}
	d := c.Policy.Detector
	if d.Consecutive5xx != 3 || d.Gateway != 0 || d.Max != 30 || d.Interval != 5 || d.Base != 30 {
		t.Errorf("detector = %+v, want 3 errors, and gateway errors not enforced", d)
	}
	if b := c.Policy.Budget; c.Policy.MaxRequests != 30 || c.Policy.MaxRetries != 3 || b == nil || *b.Percent != 20 || b.Min != 2 {
		t.Errorf("policy = %+v, want 30 requests, 3 retries and a budget of 20 %%", c.Policy)
	}
	if got := w.threshold(c.Policy, Era{}); got != 40 {
		t.Errorf("threshold = %d, want the stated 40", got)
	}
	off := worldOf(t, "http", "name: b\nconnect_timeout: 1s\noutlier_detection: {enforcing_consecutive_5xx: 0, enforcing_consecutive_gateway_failure: 100, consecutive_gateway_failure: 4}\n")
	if d := off.Calls[0].Policy.Detector; d.Consecutive5xx != 0 || d.Gateway != 4 {
		t.Errorf("detector = %+v, want only gateway errors enforced", d)
	}
}

func TestAMeshDefaultFillsWhatARuleLeavesOut(t *testing.T) {
	w := worldOf(t, "http", `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: b}
spec: {host: b.prod.svc.cluster.local}
---
meshConfig:
  localityLbSetting: {enabled: false}
  defaultTrafficPolicy:
    outlierDetection: {consecutive5xxErrors: 7}
    connectionPool: {http: {http2MaxRequests: 77}}
`)
	c := w.Calls[0]
	if c.Policy == nil || c.Policy.Detector == nil || c.Policy.Detector.Consecutive5xx != 7 || c.Policy.MaxRequests != 77 {
		t.Errorf("policy = %+v, want the mesh's default", c.Policy)
	}
	if w.Mesh.Locality == nil || *w.Mesh.Locality {
		t.Errorf("locality = %v, want off for the mesh", w.Mesh.Locality)
	}
	if c.Route == nil || c.Route.Tries != 3 || !c.Route.Implicit {
		t.Errorf("route = %+v, want Istio's default of three tries", c.Route)
	}
}

func TestHostsAreTheSameUnderTheirLongNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"authz", "authz", true},
		{"authz", "authz.payments", true},
		{"authz", "authz.payments.svc", true},
		{"authz.payments.svc.cluster.local", "authz", true},
		{"authz.payments", "authz.payments.svc.cluster.local", true},
		{"authz", "authz2", false},
		{"authz", "authz.example.com", false},
		{"authz.payments", "authz.orders.svc.cluster.local", false},
		{"processor.example", "processor.example.org", false},
		{"", "authz", false},
	} {
		if got := sameHost(c.a, c.b); got != c.want {
			t.Errorf("sameHost(%q, %q) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestADumpFollowsTheVersionOfItsMesh(t *testing.T) {
	text := "service: a\nreplicas: {min: 6}\nmesh: {controlPlane: istio, version: \"1.19\"}\nupstreams:\n  b: {target: 'http://b', rate: 60/s, latency: 100ms}\n"
	c, err := contract.Parse("f", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorld(c, manifest.Parse("dump.json", []byte(`{"configs":[{"dynamic_active_clusters":[{"cluster":{"name":"outbound|80||b","outlier_detection":{}}}]}]}`)), Options{})
	if got := w.eras(w.Calls[0].Policy)[0].Ejector; got != Envoy127 {
		t.Errorf("ejector = %s, want %s, which Istio 1.19 carries", got, Envoy127)
	}
}
