package check

import (
	"strings"
	"testing"
)

const attachedRoute = `apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: b, port: 80}]}]
`

const attachedPolicy = `---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: p}
spec:
  targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: web}]
  retry: {numRetries: 3, perRetry: {timeout: 1s}}
  healthCheck: {panicThreshold: 0, passive: {maxEjectionPercent: 100}}
`

func TestAPolicyIsFoundByTheRouteOrGatewayItIsAttachedTo(t *testing.T) {
	for name, target := range map[string]string{
		"route": "kind: HTTPRoute, name: web", "gateway": "kind: Gateway, name: edge", "service": "kind: Service, name: b",
	} {
		c := worldOf(t, "http", attachedRoute+strings.Replace(attachedPolicy, "kind: HTTPRoute, name: web", target, 1)).Calls[0]
		if c.Policy == nil || c.Policy.Detector == nil || c.Policy.Detector.Max != 100 {
			t.Errorf("policy attached to the %s = %+v, want a detector of 100 %%", name, c.Policy)
		}
	}
	other := worldOf(t, "http", attachedRoute+strings.Replace(attachedPolicy, "name: web", "name: other", 1))
	if p := other.Calls[0].Policy; p != nil {
		t.Errorf("policy of another route = %+v, want none", p)
	}
}

func TestAPolicyFillsWhatItsRouteLeavesOpen(t *testing.T) {
	for _, c := range []struct {
		name, route   string
		timeout, each float64
		tries, stated int
		implicit      bool
	}{
		{"nothing stated", attachedRoute, envoyTimeout, 1, 4, 3, true},
		{"a timeout", strings.Replace(attachedRoute, "rules: [{", "rules: [{timeouts: {request: 5s}, ", 1), 5, 1, 4, 3, false},
		{"retries", strings.Replace(attachedRoute, "rules: [{", "rules: [{retry: {attempts: 1}, ", 1), envoyTimeout, 0, 2, 1, true},
	} {
		r := worldOf(t, "http", c.route+attachedPolicy).Calls[0].Route
		if r == nil || r.Timeout != c.timeout || r.PerTry != c.each || r.Tries != c.tries || r.Stated != c.stated || r.Implicit != c.implicit {
			t.Errorf("route with %s = %+v, want %+v", c.name, r, c)
		}
	}
}
