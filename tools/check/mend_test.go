package check_test

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/report"
)

// A mend applies a remedy word by word: the number that it names goes where the set
// was broken.
type mend struct {
	rule string

	// says is what the remedy must say, with its number in parentheses.
	says string

	// edits are pairs of old and new text; # is the number, #- a little less, #/12 its
	// share of each replica.
	edits []string
}

func mends() []mend {
	const (
		ledger = "p50: 80ms\n    p99: 300ms"
	)
	return []mend{
		{"C01", `raise the cap to (\d+) or more`, []string{"inFlight: 1\n    attempts", "inFlight: #\n    attempts"}},
		{"C01", `mean latency to ([\d.]+) s`, []string{ledger, "latency: #s"}},
		{"C02", `^(\d+) places`, []string{"inFlight: 3\n", "inFlight: #\n"}},
		{"C03", `a cap of (\d+) or less`, []string{"inFlight: 16\n    attempts", "inFlight: #\n    attempts"}},
		{"C04", `limit >= (\d+)`, []string{"limit: 25", "limit: #"}},
		{"C04", `mean latency <= ([\d.]+) s`, []string{ledger, "latency: #s"}},
		{"C05", `limit >= (\d+)`, []string{"limit: 45", "limit: #"}},
		{"C05", `mean latency <= ([\d.]+) s`, []string{ledger, "latency: #s"}},
		{"C05", `a peak of at most ([\d.]+)/s`, []string{"rate: 240/s", "rate: #/s"}},
		{"C06", `a promise of ([\d.]+) s`, []string{"degraded: 801ms", "degraded: #s"}},
		{"C07", `mean, ([\d.]+) s`, []string{"    inFlight: 4\n", "", "p50: 80ms\n    p99: 900ms", "latency: #s"}},
		{"C08", `^(\d+) places? for the canary`, []string{"latency: 400ms, inFlight: 16", "latency: 400ms, inFlight: #"}},
		{"C09", `(\d+) or more`, []string{"maxIdle: 2,", "maxIdle: #,"}},
		{"C10", `a client of this module`, []string{"client: {maxIdle: 2, timeout: 2s}", "attempts: 1"}},
		{"C11", `keep (\d+) idle`, []string{"maxIdle: 2,", "maxIdle: #,"}},
		{"C12", `(\d+) streams`, []string{"protocol: grpc\n", "protocol: grpc\n    streams: #\n"}},
		{"C13", `after ([\d.]+) s`, []string{"timeout: 2s}", "timeout: 2s, idleTimeout: #s}"}},
		{"C14", `at most (\d+)`, []string{"queue: 300", "queue: #"}},
		{"C15", `of (\d+) or more`, []string{"http2MaxRequests: 1}", "http2MaxRequests: #}"}},
		{"T01", `below ([\d.]+) s`, []string{"deadline: 3s\n", "deadline: #-s\n"}},
		{"T02", `at most ([\d.]+) s`, []string{"attempt: 1500ms", "attempt: #s"}},
		{"T02", `or (\d+) of them`, []string{"attempts: 2", "attempts: #"}},
		{"T03", `below the ([\d.]+) s`, []string{"    - retries: {attempts: 0}", "    - timeout: #-s\n      retries: {attempts: 0}"}},
		{"T04", `below ([\d.]+) s`, []string{"perTryTimeout: 2500ms", "perTryTimeout: #-s"}},
		{"T05", `^([\d.]+) s or more`, []string{"attempts: 1\n    serverIdle", "attempts: 1\n    attempt: #s\n    serverIdle", "    - timeout: 1s\n", "    - timeout: #s\n"}},
		{"T06", `a timeout of the proxy below ([\d.]+) s`, []string{"timeout: 3s\n      retries: {attempts: 1,", "timeout: #-s\n      retries: {attempts: 1,"}},
		{"T06", `tries of at most ([\d.]+) s`, []string{"timeout: 3s\n      retries: {attempts: 1,", "timeout: 3s\n      retries: {attempts: 1, perTryTimeout: #s,"}},
		{"T07", `just below the ([\d.]+) s`, []string{"{cluster: orders}", "{cluster: orders, timeout: 19.8s}"}},
		{"T08", `; (1) s would do`, []string{"connectTimeout: 3s", "connectTimeout: #s"}},
		{"R01", `one attempt in the others`, []string{"deadline: 3s, attempts: 2", "deadline: 3s, attempts: 1"}},
		{"R02", `at most ([\d.]+) attempts`, []string{"retryBudget: {percent: 20,", "retryBudget: {percent: 19,"}},
		{"R02", `budget of ([\d.]+)%`, []string{"retryBudget: {percent: 20,", "retryBudget: {percent: #,"}},
		{"R03", `answer 429`, []string{"busy: 503, probes", "busy: 429, probes"}},
		{"R04", `idempotency key`, []string{"idempotent: false", "idempotent: true"}},
		{"R04", `connect-failure, refused-stream and reset-before-request`, []string{"attempts: 1, retryOn: 5xx", "attempts: 1, retryOn: 'connect-failure,refused-stream,reset-before-request'"}},
		{"R05", `percent 20 and minRetryConcurrency (\d+)`, []string{"    outlierDetection:\n", "    retryBudget: {percent: 20, minRetryConcurrency: #}\n    outlierDetection:\n"}},
		{"R06", `minRetryConcurrency (\d+)`, []string{"minRetryConcurrency: 4", "minRetryConcurrency: #"}},
		{"R07", `count (\d+)`, []string{"count: 10,", "count: #,"}},
		{"R08", `write (\d+)`, []string{"retries: {attempts: 1}", "retries: {attempts: #}"}},
		{"R09", `percent (20), written out`, []string{"retryBudget: {min", "retryBudget: {percent: #, min"}},
		{"R09", `Istio 1.28.(6)`, []string{"1.28.5", "1.28.#"}},
		{"R10", `add reset or`, []string{"connect-failure,refused-stream\"", "connect-failure,refused-stream,reset\""}},
		{"R10", `or gateway-error`, []string{"connect-failure,refused-stream\"", "connect-failure,refused-stream,gateway-error\""}},
		{"R10", `drop the attempts`, []string{"retries: {attempts: 1, perTryTimeout: 1200ms,", "retries: {attempts: 0, perTryTimeout: 1200ms,"}},
		{"O01", `maxEjectionPercent (\d+) or less`, []string{"maxEjectionPercent: 40", "maxEjectionPercent: #"}},
		{"O01", `a threshold of (\d+)%`, []string{"minHealthPercent: 70", "minHealthPercent: #"}},
		{"O02", `maxEjectionPercent (\d+) or less`, []string{"maxEjectionPercent: 30", "maxEjectionPercent: #"}},
		{"O03", `maxEjectionPercent (\d+) or less`, []string{"maxEjectionPercent: 100", "maxEjectionPercent: #"}},
		{"O04", `maxEjectionPercent (\d+) or less`, []string{"maxEjectionPercent: 75", "maxEjectionPercent: #"}},
		{"O05", `maxEjectionPercent (\d+) or more`, []string{"maxEjectionPercent: 5", "maxEjectionPercent: #"}},
		{"O06", `a readiness gate`, []string{"ready: process", "ready: gate"}},
		{"O06", `maxEjectionPercent (\d+) or less`, []string{"maxEjectionPercent: 100", "maxEjectionPercent: #"}},
		{"O06", `minReadySeconds (\d+)`, []string{"strategy: {rolling", "minReadySeconds: #\n  strategy: {rolling"}},
		{"O07", `a readiness gate`, []string{"ready: process", "ready: gate"}},
		{"O07", `or 429`, []string{"answers: 503", "answers: 429"}},
		{"O08", `baseEjectionTime ([\d.]+) s or less`, []string{"baseEjectionTime: 30s", "baseEjectionTime: #s"}},
		{"O09", `(\d+) or more for gateway errors`, []string{"consecutiveGatewayErrors: 1", "consecutiveGatewayErrors: #"}},
		{"O10", `a threshold of (\d+) or less`, []string{"consecutiveGatewayErrors: 20", "consecutiveGatewayErrors: #"}},
		{"O11", `^429`, []string{"busy: 503, probes", "busy: 429, probes"}},
		{"O12", `take 429 out`, []string{"[429, 502", "[502"}},
		{"O13", `consecutiveGatewayErrors (\d+) or less`, []string{"consecutiveGatewayErrors: 5", "consecutiveGatewayErrors: #"}},
		{"O14", `enabled=false`, []string{"localityLbSetting: {enabled: true}", "localityLbSetting: {enabled: false}"}},
		{"O15", `at least (\d+)`, []string{"min: 4, max: 4", "min: #, max: #", "replicas: 4", "replicas: #", "minReplicas: 4", "minReplicas: #", "maxReplicas: 4", "maxReplicas: #"}},
		{"O16", `maxEjectionPercent (\d+)`, []string{"maxEjectionPercent: 0", "maxEjectionPercent: #"}},
		{"O17", `^(consecutive5xxErrors)`, []string{"consecutive5xx: 1", "#: 5"}},
		{"O18", `or minHealthPercent, not both`, []string{"spec: {trafficDistribution: PreferClose}", "spec: {}"}},
		{"O19", `splitExternalLocalOriginErrors: true`, []string{"splitExternalLocalOriginErrors: false", "splitExternalLocalOriginErrors: true"}},
		{"K01", `when pools are warm`, []string{"readinessProbe: {httpGet: {path: /livez", "readinessProbe: {httpGet: {path: /readyz"}},
		{"K02", `outside the door`, []string{"probes: shared", "probes: separate"}},
		{"K03", `a startupProbe with failureThreshold (\d+)`, []string{"          livenessProbe: {", "          startupProbe: {periodSeconds: 2, failureThreshold: #, httpGet: {path: /livez, port: 8080}}\n          livenessProbe: {"}},
		{"K04", `terminationGracePeriodSeconds (\d+)$`, []string{"terminationGracePeriodSeconds: 12", "terminationGracePeriodSeconds: #"}},
		{"K05", `a preStop sleep of (\d+) s`, []string{"sleep: {seconds: 4}", "sleep: {seconds: #}"}},
		{"K06", `maxUnavailable (\d+) or less`, []string{"maxUnavailable: 3", "maxUnavailable: #"}},
		{"K07", `minReadySeconds (\d+)`, []string{"strategy: {rolling", "minReadySeconds: #\n  strategy: {rolling"}},
		{"K08", `a cap of (\d+)`, []string{"inFlight: 16\n    attempts", "inFlight: #\n    attempts"}},
		{"K08", `maxReplicas (\d+)`, []string{"maxReplicas: 13", "maxReplicas: #"}},
		{"K09", `a queue of (\d+)`, []string{"queue: 16, latency", "queue: #, latency"}},
		{"K09", `a readiness gate`, []string{"ready: process", "ready: gate"}},
		{"K10", `max: (\d+)`, []string{"max: 13", "max: #"}},
		{"M01", `below ([\d.]+) s`, []string{"latency: 3s, cliff", "latency: #-s, cliff"}},
		{"M02", `.\*lb_healthy_panic.\*`, []string{"'.*upstream_rq.*'", "'.*lb_healthy_panic.*'"}},
		{"M03", `rate\(\) above 0`, []string{"\"envoy_cluster_lb_healthy_panic > 0\"", "\"rate(envoy_cluster_lb_healthy_panic[1m]) > 0\""}},
	}
}

// numbered writes a number of a remedy into an edit.
func numbered(t *testing.T, edit, number string) string {
	t.Helper()
	if x, err := strconv.ParseFloat(number, 64); err == nil {
		edit = strings.ReplaceAll(edit, "#/12", fmt.Sprint(math.Ceil(x/12)))
		edit = strings.ReplaceAll(edit, "#-s", fmt.Sprintf("%.0fms", 990*x))
	}
	return strings.ReplaceAll(edit, "#", number)
}

// TestARemedyMends breaks the healthy set once for each rule, does what its remedy
// says, and wants the finding gone and no error in its place.
func TestARemedyMends(t *testing.T) {
	mended := map[string]bool{}
	for _, m := range mends() {
		mended[m.rule] = true
		t.Run(m.rule+" "+m.says, func(t *testing.T) {
			contractText, mesh := broken(t, m.rule)
			before := checkTexts(t, contractText, mesh)
			i := slices.IndexFunc(before.Findings, func(f check.Finding) bool { return f.Rule == m.rule })
			if i < 0 {
				t.Fatalf("%s does not fire", m.rule)
			}
			remedy := before.Findings[i].Remedy
			found := regexp.MustCompile(m.says).FindStringSubmatch(remedy)
			if found == nil {
				t.Fatalf("remedy = %q, want %q in it", remedy, m.says)
			}
			for pair := range slices.Chunk(m.edits, 2) {
				if !strings.Contains(contractText+mesh, pair[0]) {
					t.Fatalf("there is no %q to mend", pair[0])
				}
				with := numbered(t, pair[1], found[len(found)-1])
				contractText, mesh = strings.ReplaceAll(contractText, pair[0], with), strings.ReplaceAll(mesh, pair[0], with)
			}
			after := checkTexts(t, contractText, mesh)
			for _, f := range after.Findings {
				known := slices.ContainsFunc(before.Findings, func(b check.Finding) bool { return b.Rule == f.Rule })
				if f.Rule == m.rule || f.Severity == check.Error && !known {
					var b bytes.Buffer
					if err := report.Brief(&b, after, false, 0); err != nil {
						t.Fatal(err)
					}
					t.Fatalf("done what %q says, %s fires:\n%s", remedy, f.Rule, b.Bytes())
				}
			}
		})
	}
	for _, r := range check.Rules() {
		if !mended[r.ID] {
			t.Errorf("no remedy of %s is tried", r.ID)
		}
	}
}
