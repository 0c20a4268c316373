package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// hostRule writes a DestinationRule with its metadata and spec.
func hostRule(metadata, spec string) string {
	return "---\napiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {" + metadata + "}\nspec: {" + spec + "}\n"
}

const (
	ejects5 = "trafficPolicy: {outlierDetection: {consecutive5xxErrors: 5}}"
	ejects7 = "trafficPolicy: {outlierDetection: {consecutive5xxErrors: 7}}"
	older   = ", creationTimestamp: '2026-01-01T00:00:00Z'"
	younger = ", creationTimestamp: '2026-02-01T00:00:00Z'"
)

func TestRulesOfOneHostAreTakenTogether(t *testing.T) {
	const v1 = "subsets: [{name: v1, trafficPolicy: {outlierDetection: {consecutive5xxErrors: 9}}}]"
	for _, c := range []struct {
		name, mesh   string
		all, ofV1    int    // errors in a row that eject; 0 without a detector
		dropped      string // what P02 says, in part
		droppedLines []int
	}{
		{"the first has a policy, the second a subset", hostRule("name: x", "host: b, "+ejects5) + hostRule("name: y", "host: b, "+v1), 5, 9, "", nil},
		{"the other way round", hostRule("name: x", "host: b, "+v1) + hostRule("name: y", "host: b, "+ejects5), 5, 9, "", nil},
		{"the older is in force", hostRule("name: x"+younger, "host: b, "+ejects5) + hostRule("name: y"+older, "host: b, "+ejects7), 7, 7, "the trafficPolicy for b was not read: DestinationRule/y (mesh.yaml:7) is older", []int{2}},
		{"which is older is not known", hostRule("name: x", "host: b, "+ejects5) + hostRule("name: y", "host: b, "+ejects7), 5, 5, "DestinationRule/x (mesh.yaml:2) has one too, and which is older", []int{7}},
		{"a subset twice", hostRule("name: x"+older, "host: b, "+v1) + hostRule("name: y"+younger, "host: b, "+strings.Replace(v1, "9", "8", 1)), 0, 9, "the subset v1", []int{7}},
		{"a selector", hostRule("name: x", "host: b, workloadSelector: {matchLabels: {a: b}}, "+ejects5) + hostRule("name: y", "host: b, "+ejects7), 7, 7, "workloadSelector alone; DestinationRule/y", []int{2}},
		{"the same host, spelt otherwise", hostRule("name: x"+older, "host: b, "+ejects5) + hostRule("name: y"+younger, "host: b.n.svc.cluster.local, "+ejects7), 5, 5, "the trafficPolicy for b.n.svc.cluster.local was not read", []int{7}},
		{"a wildcard gives way", hostRule("name: x, namespace: n", "host: '*.local', "+ejects5) + hostRule("name: y, namespace: n", "host: b, "+ejects7), 7, 7, "", nil},
	} {
		w := worldOf(t, "http", c.mesh)
		for subset, want := range map[string]int{"": c.all, "v1": c.ofV1} {
			got := 0
			if d := w.policyFor("b", cluster{subset, 80}).Detector; d != nil {
				got = d.Consecutive5xx
			}
			if got != want {
				t.Errorf("%s: subset %q ejects after %d, want %d", c.name, subset, got, want)
			}
		}
		found := only(w, unmerged)
		if len(found) != len(c.droppedLines) || len(found) > 0 && (!strings.Contains(found[0].Evidence, c.dropped) || found[0].Ref.Line != c.droppedLines[0]) {
			t.Errorf("%s: P02 = %+v, want %q at the lines %v", c.name, found, c.dropped, c.droppedLines)
		}
	}
}

// inNamespaces is a world whose service a is in the namespace shop and calls host.
func inNamespaces(t *testing.T, host, mesh string) *World {
	t.Helper()
	c, err := contract.Parse("f", []byte("service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://"+host+"', rate: 60/s, latency: 100ms}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	const pods = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: shop}\nspec: {replicas: 6, selector: {}, template: {spec: {containers: [{name: a}]}}}\n"
	return NewWorld(c, manifest.Parse("mesh.yaml", []byte(pods+mesh)), Options{})
}

func TestAShortHostIsOfItsRulesNamespace(t *testing.T) {
	two := hostRule("name: b, namespace: other", "host: b, "+ejects5) + hostRule("name: b, namespace: shop", "host: b, "+ejects7)
	for _, c := range []struct {
		host, mesh string
		want       int
	}{
		{"b", two, 7},
		{"b.other", two, 5},
		{"b.other.svc.cluster.local", two, 5},
		{"b.third", two, 0},
		// the caller's own namespace comes before the host's
		{"b.other", two + hostRule("name: mine, namespace: shop", "host: b.other.svc.cluster.local, trafficPolicy: {outlierDetection: {consecutive5xxErrors: 3}}"), 3},
		{"b", hostRule("name: all, namespace: istio-system", "host: '*.local', "+ejects5), 5},
		{"b", hostRule("name: all, namespace: istio-system", "host: '*.shop.svc.cluster.local', "+ejects5) + hostRule("name: x, namespace: istio-system", "host: '*.local', "+ejects7), 5},
		{"api.example.com", hostRule("name: all, namespace: istio-system", "host: '*.local', "+ejects5), 0},
		{"api.example.com", hostRule("name: all, namespace: istio-system", "host: '*.example.com', "+ejects5), 5},
	} {
		got := 0
		if p := inNamespaces(t, c.host, c.mesh).Calls[0].Policy; p != nil {
			got = p.Detector.Consecutive5xx
		}
		if got != c.want {
			t.Errorf("hosts of %s are ejected after %d errors, want %d", c.host, got, c.want)
		}
	}
}

func TestARouteIsOfItsNamespace(t *testing.T) {
	routes := ""
	for _, ns := range []string{"other", "shop"} {
		routes += "---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b, namespace: " + ns + "}\nspec: {hosts: [b], http: [{timeout: " + map[string]string{"other": "1s", "shop": "2s"}[ns] + ", route: [{destination: {host: b}}]}]}\n"
	}
	for host, want := range map[string]float64{"b": 2, "b.other": 1} {
		c := inNamespaces(t, host, routes).Calls[0]
		if len(c.ways) != 1 || c.Route.Timeout != want {
			t.Errorf("route to %s = %+v of %d, want a timeout of %g s", host, c.Route, len(c.ways), want)
		}
	}
}

func TestARouteOfAGatewayIsNoneOfTheServicesOwnCalls(t *testing.T) {
	const rest = "hosts: [b], http: [{timeout: 1s, route: [{destination: {host: b}}]}]}\n"
	const vs = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\nspec: {"
	for gateways, want := range map[string]float64{"": 1, "gateways: [edge], ": 0, "gateways: [edge, mesh], ": 1} {
		if got := worldOf(t, "http", vs+gateways+rest).Calls[0].Route; got.timeout() != want {
			t.Errorf("route to b with %q = %+v, want a timeout of %g s", gateways, got, want)
		}
	}
	w := worldOf(t, "http", strings.ReplaceAll(vs+"gateways: [edge], "+rest, "b}", "a}"))
	if i := slices.IndexFunc(w.Calls, func(c Call) bool { return c.Inbound }); w.Calls[i].Route.timeout() != 1 {
		t.Errorf("route of what comes in = %+v, want that of the gateway", w.Calls[i].Route)
	}
}

func (r *Route) timeout() float64 {
	if r == nil {
		return 0
	}
	return r.Timeout
}

func TestTheFloorOfABudgetIsForEachSubset(t *testing.T) {
	// 60/s x 200 ms are 12 in flight. The service has 6 proxies.
	rule := hostRule("name: b", "host: b, trafficPolicy: {retryBudget: {percent: 100, minRetryConcurrency: 2}}, subsets: [{name: v1, trafficPolicy: {retryBudget: {percent: 100, minRetryConcurrency: 2}}}, {name: v2}]")
	routes := "---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\nspec: {hosts: [b], http: [{route: [{destination: {host: b, subset: v1}, weight: 90}, {destination: {host: b, subset: v2}, weight: 10}]}]}\n"
	busier := func(mesh string) *World {
		w := worldOf(t, "http", mesh)
		w.Calls[0].Mean *= 2
		return w
	}
	if found := only(busier(rule), "R06"); len(found) != 0 {
		t.Errorf("R06 = %+v, want none: no request reaches a subset without a route", found)
	}
	found := only(busier(rule+routes), "R06")
	if len(found) != 1 || !strings.HasPrefix(found[0].Evidence, "floor 24 concurrent retries fleet-wide of 2 subsets or ports vs 12") {
		t.Errorf("R06 = %+v, want the floors of both subsets added up", found)
	}
}

func TestABudgetIsThatOfItsSubset(t *testing.T) {
	w := worldOf(t, "http", hostRule("name: b", "host: b, trafficPolicy: {retryBudget: {percent: 20}}, subsets: [{name: own, trafficPolicy: {retryBudget: {percent: 40}}}, {name: none, trafficPolicy: {connectionPool: {tcp: {connectTimeout: 1s}}}}, {name: plain}]"))
	for subset, want := range map[string]Budget{"": {Min: 20}, "own": {Min: 40, InSubset: true}, "none": {Min: 20, InSubset: true}, "plain": {Min: 20}} {
		b := w.policyFor("b", cluster{subset, 80}).Budget
		if b == nil || *b.Percent != float64(want.Min) || b.InSubset != want.InSubset {
			t.Errorf("budget of the subset %q = %+v, want %d%% and dropped before 1.29.2: %v", subset, b, want.Min, want.InSubset)
		}
	}
}

func TestOnlyTheDefaultPriorityOfAnEnvoyIsRead(t *testing.T) {
	for text, want := range map[string][2]int{
		"": {1024, 3},
		"circuit_breakers: {thresholds: [{max_requests: 50}, {priority: HIGH, max_requests: 5000, max_retries: 9}]}": {50, 3},
	} {
		p := worldOf(t, "http", "name: b\nconnect_timeout: 1s\n"+text+"\n").Calls[0].Policy
		if p.MaxRequests != want[0] || p.MaxRetries != want[1] {
			t.Errorf("breaker of %q = %d requests and %d retries, want %v", text, p.MaxRequests, p.MaxRetries, want)
		}
	}
}

func TestWhatStandsInTheInputTwiceIsSaid(t *testing.T) {
	one := hostRule("name: b", "host: b")
	if r := worldOf(t, "http", one+hostRule("name: b, namespace: n", "host: b")).Check(Baseline{}); len(r.Notes) != 0 {
		t.Errorf("notes = %q, want none for two namespaces", r.Notes)
	}
	r := worldOf(t, "http", one+one).Check(Baseline{})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "DestinationRule/b is in mesh.yaml:2 and in mesh.yaml:7") {
		t.Errorf("notes = %q, want the places of both", r.Notes)
	}
	if r := worldOf(t, "http", strings.Repeat(one, 9)).Check(Baseline{}); len(r.Notes) != 4 {
		t.Errorf("notes = %q, want three and a count", r.Notes)
	}
}

func TestABudgetOfTheGatewayAPIIsOne(t *testing.T) {
	const route = "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: b}\nspec: {rules: [{backendRefs: [{name: b, port: 80}], retry: {attempts: 2}}]}\n"
	const constraint = "---\napiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackendTrafficPolicy\nmetadata: {name: b}\nspec: {targetRefs: [{group: '', kind: Service, name: b}], retryConstraint: {budget: {percent: 30}, minRetryRate: {count: 1, interval: 1s}}}\n"
	const policy = "---\napiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {name: b}\nspec: {targetRefs: [{group: gateway.networking.k8s.io, kind: HTTPRoute, name: b}], circuitBreaker: {retryBudget: {percent: {numerator: 30}, minRetryConcurrency: 1}}}\n"
	rule := hostRule("name: b", "host: b")
	for name, mesh := range map[string]string{
		"Istio": route + constraint + rule, "Istio without a rule": route + constraint + hostRule("name: c", "host: c"), "Envoy Gateway": route + policy,
	} {
		w := worldOf(t, "http", mesh)
		if b := w.Calls[0].Policy.Budget; b == nil || *b.Percent != 30 || b.Min != 1 {
			t.Errorf("%s: budget = %+v, want 30%% and 1", name, b)
		}
		if found := only(w, "R05"); len(found) != 0 {
			t.Errorf("%s: R05 = %+v, want none", name, found)
		}
	}
}
