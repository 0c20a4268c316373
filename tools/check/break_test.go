package check_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
	"github.com/offtake-go/offtake/tools/check/report"
)

// healthy is a contract and manifests of which everything holds.
func healthy(t testing.TB) (contractText, mesh string) {
	t.Helper()
	var texts [2]string
	for i, name := range []string{"offtake.yaml", "mesh.yaml"} {
		b, err := os.ReadFile(filepath.Join("testdata", "healthy", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	return texts[0], texts[1]
}

func checkTexts(t testing.TB, contractText, mesh string) *check.Report {
	t.Helper()
	c, err := contract.Parse("offtake.yaml", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	o := check.Options{Now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)}
	return check.NewWorld(c, manifest.Parse("mesh.yaml", []byte(mesh)), o).Check(check.Baseline{})
}

func TestTheHealthySetHolds(t *testing.T) {
	r := checkTexts(t, first(healthy(t)), second(healthy(t)))
	if len(r.Findings)+len(r.Broken) > 0 {
		var b bytes.Buffer
		if err := report.Text(&b, r, false); err != nil {
			t.Fatal(err)
		}
		t.Errorf("the healthy set has findings:\n%s", b.Bytes())
	}
	if len(r.Held) < 55 {
		t.Errorf("%d rules hold, want at least 55; not known: %v", len(r.Held), r.Unknown)
	}
}

func first(a, _ string) string  { return a }
func second(_, b string) string { return b }

const legacy = "  legacy:\n    target: http://legacy\n    rate: 1200/s\n    latency: 100ms\n    client: {maxIdle: 2, timeout: 2s}\n  risk:"

// A breakage is where the healthy set is broken, so that a rule fires.
type breakage struct {
	rule string

	// edits are pairs of old and new text, in the contract or in the manifests.
	edits []string
}

func breakages() []breakage {
	return []breakage{
		{"C01", []string{"inFlight: 16\n    attempts", "inFlight: 1\n    attempts"}},
		{"C02", []string{"inFlight: 16\n    attempts", "inFlight: 3\n    attempts"}},
		{"C03", []string{"limit: 240", "limit: 239"}},
		{"C04", []string{"limit: 240", "limit: 25"}},
		{"C05", []string{"limit: 240", "limit: 45"}},
		{"C06", []string{"degraded: 400ms", "degraded: 801ms"}},
		{"C07", []string{"inFlight: 16\n    attempts", "inFlight: 4\n    attempts", "p99: 300ms", "p99: 900ms"}},
		{"C08", []string{"rate: 20/s", "rate: 10/s"}},
		{"C09", []string{"  risk:", legacy}},
		{"C10", []string{"  risk:", legacy, "latency: 100ms\n    client", "latency: 100ms\n    limit: 400\n    client"}},
		{"C11", []string{"  risk:", strings.Replace(legacy, "1200/s", "60000/s", 1)}},
		{"C12", []string{"latency: 20ms", "latency: 20ms\n    client: {timeout: 1s}", "rate: 600/s", "rate: 72000/s"}},
		{"C13", []string{"  risk:", legacy, "client: {maxIdle: 2, timeout: 2s}", "serverIdle: 60s\n    client: {maxIdle: 2, timeout: 2s}"}},
		{"C14", []string{"queue: 16, latency: 200ms", "queue: 300, latency: 200ms"}},
		{"C15", []string{"http2MaxRequests: 40", "http2MaxRequests: 1"}},
		{"T01", []string{"idempotent: true", "idempotent: true\n    deadline: 3s"}},
		{"T02", []string{"attempts: 1\n    serverIdle", "attempts: 2\n    attempt: 1500ms\n    deadline: 3s\n    serverIdle"}},
		{"T03", []string{"    - timeout: 1s\n      retries: {attempts: 0}", "    - retries: {attempts: 0}"}},
		{"T04", []string{"perTryTimeout: 1200ms", "perTryTimeout: 2500ms"}},
		{"T05", []string{"p99: 300ms", "p99: 2700ms", "degraded: 400ms", "degraded: 900ms"}},
		{"T06", []string{"timeout: 2500ms\n      retries: {attempts: 1, perTryTimeout: 1200ms,", "timeout: 3s\n      retries: {attempts: 1,"}},
		{"T07", []string{"controlPlane: istio", "controlPlane: envoy", "deadline: 3s, attempts: 1", "deadline: 20s, attempts: 1", "kind: DestinationRule", "kind: Other", "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: orders}", envoyRoutes + "---\napiVersion: other/v1\nkind: Other\nmetadata: {name: orders}"}},
		{"T08", []string{"connectTimeout: 500ms", "connectTimeout: 3s"}},
		{"R01", []string{"deadline: 3s, attempts: 1", "deadline: 3s, attempts: 2"}},
		{"R02", []string{"degraded: 400ms", "degraded: 641ms"}},
		{"R03", []string{"busy: 429, probes", "busy: 503, probes", "connect-failure,refused-stream,reset", "connect-failure,5xx"}},
		{"R04", []string{"idempotent: true", "idempotent: false", "retries: {attempts: 0}", "retries: {attempts: 1, retryOn: 5xx}"}},
		{"R05", []string{"    retryBudget: {percent: 20, minRetryConcurrency: 1}\n", "", "  retryConstraint: {budget: {percent: 20}, minRetryRate: {count: 1, interval: 1s}}\n", ""}},
		{"R06", []string{"minRetryConcurrency: 1", "minRetryConcurrency: 4"}},
		{"R07", []string{"minRetryRate: {count: 1,", "minRetryRate: {count: 10,"}},
		{"R08", []string{"retries: {attempts: 0}", "retries: {attempts: 1}"}},
		{"R09", []string{"retryBudget: {percent: 20, minRetryConcurrency: 1}", "retryBudget: {minRetryConcurrency: 1}", "1.30.1", "1.28.5"}},
		{"R10", []string{"connect-failure,refused-stream,reset", "connect-failure,refused-stream"}},
		{"O01", []string{"minHealthPercent: 30", "minHealthPercent: 70", "maxEjectionPercent: 20", "maxEjectionPercent: 40"}},
		{"O02", []string{"minHealthPercent: 30", "minHealthPercent: 70", "maxEjectionPercent: 20", "maxEjectionPercent: 30"}},
		{"O03", []string{"minHealthPercent: 30\n", "\n", "maxEjectionPercent: 20", "maxEjectionPercent: 100"}},
		{"O04", []string{"maxEjectionPercent: 20", "maxEjectionPercent: 75"}},
		{"O05", []string{"maxEjectionPercent: 20", "maxEjectionPercent: 5"}},
		{"O06", []string{"answers: queue, ready: gate", "answers: 503, ready: process", "maxEjectionPercent: 20", "maxEjectionPercent: 100", "minHealthPercent: 30", "minHealthPercent: 50"}},
		{"O07", []string{"answers: queue, ready: gate", "answers: 503, ready: process"}},
		{"O08", []string{"fault: 20s", "fault: 9s"}},
		{"O09", []string{"consecutiveGatewayErrors: 3", "consecutiveGatewayErrors: 1"}},
		{"O10", []string{"consecutiveGatewayErrors: 3", "consecutiveGatewayErrors: 20", "consecutive5xxErrors: 5", "consecutive5xxErrors: 20"}},
		{"O11", []string{"busy: 429, probes", "busy: 503, probes"}},
		{"O12", []string{"[502, 503, 504]", "[429, 502, 503, 504]"}},
		{"O13", []string{"consecutiveGatewayErrors: 3", "consecutiveGatewayErrors: 5"}},
		{"O14", []string{"rate: 300/s", "rate: 900/s", "{a: 40%, b: 30%, c: 30%}", "{a: 80%, b: 10%, c: 10%}"}},
		{"O15", []string{"min: 12, max: 12", "min: 4, max: 4", "replicas: 12", "replicas: 4", "minReplicas: 12", "minReplicas: 4", "maxReplicas: 12", "maxReplicas: 4"}},
		{"O16", []string{"maxEjectionPercent: 20", "maxEjectionPercent: 0"}},
		{"O17", []string{"consecutive5xxErrors: 5", "consecutive5xx: 1"}},
		{"O17", []string{"consecutive5xxErrors: 5", "consecutiveErrors: 5"}},
		{"O18", []string{"kind: HorizontalPodAutoscaler", "kind: HorizontalPodAutoscaler", "apiVersion: autoscaling/v2", "apiVersion: v1\nkind: Service\nmetadata: {name: orders}\nspec: {trafficDistribution: PreferClose}\n---\napiVersion: autoscaling/v2"}},
		{"O19", []string{"splitExternalLocalOriginErrors: true", "splitExternalLocalOriginErrors: false"}},
		{"K01", []string{"path: /readyz", "path: /livez"}},
		{"K02", []string{"queue: 16, latency: 200ms", "queue: 80, latency: 200ms", "probes: separate", "probes: shared"}},
		{"K03", []string{"livenessProbe: {", "livenessProbe: {periodSeconds: 2, "}},
		{"K04", []string{"terminationGracePeriodSeconds: 30", "terminationGracePeriodSeconds: 12"}},
		{"K05", []string{"preStop: {sleep: {seconds: 10}}", "preStop: {sleep: {seconds: 4}}"}},
		{"K06", []string{"rate: 300/s", "rate: 900/s", "maxUnavailable: 0", "maxUnavailable: 3"}},
		{"K07", []string{"time: 10s, warm: 5s", "time: 1s, warm: 1s"}},
		{"K08", []string{"maxReplicas: 12", "maxReplicas: 13"}},
		{"K09", []string{"ready: gate", "ready: process"}},
		{"K10", []string{"min: 12, max: 12", "min: 12, max: 13"}},
		{"M01", []string{"latency: 1s, cliff: 2s", "latency: 3s, cliff: 2s"}},
		{"M02", []string{"'.*lb_healthy_panic.*'", "'.*upstream_rq.*'"}},
		{"M03", []string{"rate(envoy_cluster_lb_healthy_panic[1m]) > 0", "envoy_cluster_lb_healthy_panic > 0"}},
	}
}

// apply makes the edits.
func (c breakage) apply(t *testing.T) (contractText, mesh string) {
	t.Helper()
	contractText, mesh = healthy(t)
	for pair := range slices.Chunk(c.edits, 2) {
		if !strings.Contains(contractText+mesh, pair[0]) {
			t.Fatalf("there is no %q to break", pair[0])
		}
		contractText, mesh = strings.ReplaceAll(contractText, pair[0], pair[1]), strings.ReplaceAll(mesh, pair[0], pair[1])
	}
	return contractText, mesh
}

// broken is the healthy set as the first breakage of a rule leaves it.
func broken(t *testing.T, rule string) (contractText, mesh string) {
	t.Helper()
	all := breakages()
	return all[slices.IndexFunc(all, func(c breakage) bool { return c.rule == rule })].apply(t)
}

// TestOneBrokenLineFiresItsRule breaks the healthy set where each rule looks. Every
// rule must be reachable from real files, and not from numbers alone.
func TestOneBrokenLineFiresItsRule(t *testing.T) {
	for _, c := range breakages() {
		t.Run(c.rule, func(t *testing.T) {
			contractText, mesh := c.apply(t)
			r := checkTexts(t, contractText, mesh)
			if !slices.ContainsFunc(r.Findings, func(f check.Finding) bool { return f.Rule == c.rule && f.Evidence != "" && f.Remedy != "" }) {
				var b bytes.Buffer
				if err := report.Text(&b, r, false); err != nil {
					t.Fatal(err)
				}
				t.Errorf("%s does not fire:\n%s", c.rule, b.Bytes())
			}
		})
	}
}

const envoyRoutes = `virtual_hosts:
- name: all
  domains: ["*"]
  routes: [{match: {prefix: /}, route: {cluster: orders}}]
`
