package check

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity/contract"
)

// places are where a rule finds something, as lines.
func places(w *World, id string) []int {
	var lines []int
	for _, f := range only(w, id) {
		lines = append(lines, f.Ref.Line)
	}
	return lines
}

const twoRules = `apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: b}
spec:
  hosts: [b]
  http:
    - match: [{uri: {prefix: /orders}}]
      route: [{destination: {host: b}}]
      timeout: 3s
    - route: [{destination: {host: other}}]
    - match: [{uri: {prefix: /reports}}]
      route: [{destination: {host: b}}]
    - route: [{destination: {host: b}}]
      timeout: 3s
      retries: {attempts: 2, perTryTimeout: 5s}
`

func TestEveryRuleOfAVirtualServiceMustHold(t *testing.T) {
	w := worldOf(t, "http", twoRules)
	if got := places(w, "T03"); !slices.Equal(got, []int{11}) {
		t.Errorf("T03 at the lines %v, want 11: the second rule that leads there has no timeout", got)
	}
	if got := places(w, "T04"); !slices.Equal(got, []int{13}) {
		t.Errorf("T04 at the lines %v, want 13: the third has a try that is longer than the call", got)
	}
}

func TestEveryVirtualServiceOfAHostMustHold(t *testing.T) {
	second := "---\napiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b2}\nspec:\n  http:\n    - route: [{destination: {host: b}}]\n"
	if got := places(worldOf(t, "http", twoRules+second), "T03"); !slices.Equal(got, []int{11, 22}) {
		t.Errorf("T03 at the lines %v, want 11 and 22", got)
	}
}

func TestEveryRuleOfAnHTTPRouteMustHold(t *testing.T) {
	second := "    - backendRefs: [{name: b, port: 80}]\n      timeouts: {request: 0s}\n    - backendRefs: [{name: other, port: 80}]\n"
	if got := places(worldOf(t, "http", httpRouteText+second), "T03"); !slices.Equal(got, []int{8}) {
		t.Errorf("T03 at the lines %v, want 8: the second rule has no timeout", got)
	}
}

func TestEveryRouteOfAnEnvoyMustHold(t *testing.T) {
	w := worldOf(t, "http", "virtual_hosts:\n- name: a\n  domains: [\"*\"]\n  routes:\n  - {match: {prefix: /x}, route: {cluster: b, timeout: 3s}}\n  - {match: {prefix: /}, route: {cluster: b, timeout: 0s}}\n")
	if found := only(w, "T03"); len(found) != 1 || !strings.Contains(found[0].Evidence, "route 0 s") {
		t.Errorf("T03 = %+v, want the second route, which has no timeout", found)
	}
}

// ports is a rule that ejects after 5 errors, on port 80 after one, and on port 9090
// not at all.
const ports = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: b}
spec:
  host: b
  trafficPolicy:
    outlierDetection: {consecutive5xxErrors: 5}
    connectionPool: {tcp: {connectTimeout: 1s}}
    portLevelSettings:
    - port: {number: 80}
      outlierDetection: {consecutive5xxErrors: 1}
    - port: {number: 9090}
      connectionPool: {tcp: {connectTimeout: 2s}}
`

func TestSettingsOfAPortReplaceThoseOfTheHost(t *testing.T) {
	for port, want := range map[string]struct {
		errors  int // in a row that eject, 0 without a detector
		connect float64
		line    int
	}{
		"http://b":      {1, 10, 10}, // 80 by its scheme; the connect timeout is back at Istio's default
		"http://b:80":   {1, 10, 10},
		"http://b:9090": {0, 2, 12},
		"http://b:8080": {5, 1, 1},
		"b":             {5, 1, 1},
	} {
		p := worldOf(t, "http", ports).policyFor("b", cluster{port: portOf(contract.Upstream{Target: port})})
		errors := 0
		if p.Detector != nil {
			errors = p.Detector.Consecutive5xx
		}
		if errors != want.errors || p.ConnectTimeout != want.connect || p.Ref.Line != want.line {
			t.Errorf("the policy of %s ejects after %d, connects within %g s and is at line %d, want %+v", port, errors, p.ConnectTimeout, p.Ref.Line, want)
		}
	}
}

func TestAnUpstreamHasThePolicyOfItsPort(t *testing.T) {
	w := worldOf(t, "http", ports)
	if got := places(w, "O09"); !slices.Equal(got, []int{11}) {
		t.Errorf("O09 at the lines %v, want 11: one error ejects on port 80", got)
	}
	elsewhere := worldOf(t, "http", strings.Replace(ports, "number: 80}", "number: 8080}", 1))
	if got := places(elsewhere, "O09"); len(got) != 0 {
		t.Errorf("O09 at the lines %v, want none: no call goes to port 8080", got)
	}
	routed := worldOf(t, "http", strings.Replace(ports, "number: 80}", "number: 8080}", 1)+"---\n"+strings.Replace(twoRules, "{host: b}", "{host: b, port: {number: 8080}}", 1))
	if got := places(routed, "O09"); !slices.Equal(got, []int{11}) {
		t.Errorf("O09 at the lines %v, want 11: a rule leads to port 8080", got)
	}
}

func TestCallersMayTakeEveryPort(t *testing.T) {
	w := worldOf(t, "http", strings.Replace(ports, "host: b", "host: a", 1))
	if got := places(w, "O09"); !slices.Equal(got, []int{11}) {
		t.Errorf("O09 at the lines %v, want 11: nobody says which port callers take", got)
	}
}

const subsets = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: b}
spec:
  host: b
  trafficPolicy:
    outlierDetection: {consecutive5xxErrors: 5}
    connectionPool: {tcp: {connectTimeout: 1s}}
  subsets:
  - name: v1
    trafficPolicy: {outlierDetection: {consecutive5xxErrors: 1}}
  - name: v2
    trafficPolicy:
      outlierDetection: {consecutive5xxErrors: 7}
      portLevelSettings: [{port: {number: 80}, outlierDetection: {consecutive5xxErrors: 1, interval: 5s}}]
  - name: v3
`

func TestEverySubsetMustHold(t *testing.T) {
	w := worldOf(t, "http", subsets)
	if got := places(w, "O09"); !slices.Equal(got, []int{11, 15}) {
		t.Errorf("O09 at the lines %v, want 11 and 15: in both subsets one error ejects", got)
	}
	for name, want := range map[string]struct {
		errors  int
		connect float64
	}{"": {5, 1}, "v1": {1, 1}, "v2": {1, 10}, "v3": {5, 1}} {
		p := w.policyFor("b", cluster{name, 80})
		if p.Detector.Consecutive5xx != want.errors || p.ConnectTimeout != want.connect {
			t.Errorf("subset %q ejects after %d and connects within %g s, want %+v", name, p.Detector.Consecutive5xx, p.ConnectTimeout, want)
		}
	}
}

func TestARouteIsTakenWithTheSubsetItLeadsTo(t *testing.T) {
	// v1 has a detector and a timeout that is short enough; v3 has neither.
	mesh := strings.Replace(subsets, "outlierDetection: {consecutive5xxErrors: 5}\n    ", "", 1) + `---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: b}
spec:
  http:
    - route: [{destination: {host: b, subset: v1}}]
      timeout: 100ms
    - route: [{destination: {host: b, subset: v3}}]
`
	w := worldOf(t, "http", mesh)
	c := w.Calls[0]
	if len(c.ways) != 3 { // v2 is led to by nobody, and taken with the first route
		t.Fatalf("%d ways, want 3: %+v", len(c.ways), c.ways)
	}
	if c.ways[0].policy.Detector == nil || c.ways[1].policy.Detector != nil {
		t.Errorf("ways = %+v, want the detector of v1 with the first route and none with the second", c.ways)
	}
	if got := places(w, "T06"); len(got) != 0 {
		t.Errorf("T06 at the lines %v, want none: the route without a timeout leads to hosts that nobody ejects", got)
	}
}

func TestADumpHasAClusterForEachPort(t *testing.T) {
	dump := func(port int) string {
		return fmt.Sprintf(`{"name":"outbound|%d||b.prod.svc.cluster.local","connect_timeout":"%ds","outlier_detection":{}}`, port, port)
	}
	w := worldOf(t, "http", `{"configs":[{"dynamic_active_clusters":[{"cluster":`+dump(9090)+`},{"cluster":`+dump(80)+`}]}]}`)
	if got := w.Calls[0].Policy.ConnectTimeout; got != 80 {
		t.Errorf("connect timeout = %g s, want that of port 80", got)
	}
}

func TestManyRoutesTakeNoLongerThanTheirNumber(t *testing.T) {
	var b strings.Builder
	b.WriteString("apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\nspec:\n  http:\n")
	for i := range 500 {
		fmt.Fprintf(&b, "    - {route: [{destination: {host: b, subset: v%d}}, {destination: {host: a}}], timeout: %dms}\n", i, i+1)
	}
	w := worldOf(t, "http", b.String())
	if got := len(w.ways()); got != 1000 {
		t.Errorf("%d ways, want 1000", got)
	}
	w.Check(Baseline{})
}

func TestTheWorstOfSeveralWaysIsReported(t *testing.T) {
	vs := "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\nspec:\n  http:\n"
	for _, attempts := range []int{3, 9, 5} {
		vs += fmt.Sprintf("    - {route: [{destination: {host: b}}], timeout: 3s, retries: {attempts: %d, retryOn: 5xx}}\n", attempts)
	}
	found := only(worldOf(t, "http", vs), "R01")
	if len(found) != 1 || !strings.HasPrefix(found[0].Evidence, "2 x 10 = 20 upstream attempts") || !strings.HasSuffix(found[0].Evidence, " (the worst of 3 here)") {
		t.Errorf("R01 = %+v, want the route of 10 tries behind 2 attempts, and that three fail", found)
	}
}

func TestOneCaseIsNotCalledTheWorst(t *testing.T) {
	if found := only(worldOf(t, "http", twoRules), "T04"); len(found) != 1 || strings.Contains(found[0].Evidence, "worst") {
		t.Errorf("T04 = %+v, want no word of others", found)
	}
}

// weighted is a dump in which a canary gets a tenth of the requests.
const weighted = `{"configs": [{"dynamic_active_clusters": [
  {"cluster": {"name": "outbound|80|v1|b.prod.svc.cluster.local", "outlier_detection": {"consecutive_5xx": 5}}},
  {"cluster": {"name": "outbound|80|v2|b.prod.svc.cluster.local",
    "outlier_detection": {"consecutive_5xx": 1}}}]},
 {"dynamic_route_configs": [{"route_config": {"virtual_hosts": [{"name": "b", "domains": ["*"], "routes": [
   {"match": {"prefix": "/"}, "route": {"timeout": "1s", "weighted_clusters": {"clusters": [
     {"name": "outbound|80|v1|b.prod.svc.cluster.local", "weight": 90},
     {"name": "outbound|80|v2|b.prod.svc.cluster.local", "weight": 10},
     {"name": "outbound|80|v3|b.prod.svc.cluster.local", "weight": 0}]},
    "retry_policy": {"retry_on": "reset,retriable-status-codes", "retriable_status_codes": [429, 502], "per_try_timeout": "2s"}}}]}]}}]}]}`

func TestWeightedClustersAreWays(t *testing.T) {
	w := worldOf(t, "http", weighted)
	if got := len(w.Calls[0].ways); got != 2 {
		t.Fatalf("%d ways, want one for each weight above 0", got)
	}
	if got := places(w, "O09"); !slices.Equal(got, []int{4}) {
		t.Errorf("O09 at the lines %v, want 4: the canary's hosts go after one error", got)
	}
	if got := places(w, "T04"); !slices.Equal(got, []int{6}) {
		t.Errorf("T04 at the lines %v, want 6, where the route is", got)
	}
	for busy, want := range map[contract.Answer]int{"429": 1, "502": 1, "503": 0} {
		w.Calls[0].Busy = busy
		if got := places(w, "R03"); len(got) != want {
			t.Errorf("R03 at the lines %v, want %d: of busy answers 429 and 502 are retried", got, want)
		}
	}
}

func TestABackendOfWeightNothingIsNoWay(t *testing.T) {
	const vs = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\nspec: {http: [{route: [{destination: {host: b}, weight: W}, {destination: {host: c}, weight: 100}]}]}\n"
	const gw = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: b}\nspec: {rules: [{backendRefs: [{name: b, weight: W}, {name: c}]}]}\n"
	for _, text := range []string{vs, gw} {
		for weight, want := range map[string]bool{"0": false, "1": true} {
			if c := worldOf(t, "http", strings.Replace(text, "W", weight, 1)).Calls[0]; (c.Route != nil && c.Route.Ref.File != "") != want {
				t.Errorf("route with a weight of %s = %+v, want one: %v", weight, c.Route, want)
			}
		}
	}
}

func TestACodeThatAHalfDoneCallAnswersIsNotRetried(t *testing.T) {
	for on, want := range map[string]bool{"connect-failure,500": false, "connect-failure,503": true, "504": false} {
		if v := try(t, "R04", `{"n":2,"idem":false,"on":"`+on+`"}`); v.Holds != want {
			t.Errorf("R04 of %s = %+v, want holds %v", on, v, want)
		}
	}
}
