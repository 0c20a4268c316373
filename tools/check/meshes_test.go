package check

import (
	"slices"
	"strings"
	"testing"
)

// TestRulesAreRightAboutMeshes holds what was once wrong: findings about what is in
// order, and none about what is not. A rule with a minus must be silent.
func TestRulesAreRightAboutMeshes(t *testing.T) {
	const (
		own = "service: a\nreplicas: {min: 6}\ncallers: {c: {rate: 120/s, deadline: 2s, replicas: 4}}\ndoor: {inFlight: 16, queue: 16, latency: 60ms}\n" +
			"upstreams:\n  b: {target: 'http://b:8080', rate: 120/s, p50: 20ms, p99: 200ms, idempotent: true, attempts: 2}\n"
		istio   = own + "mesh: {version: '1.29.2'}\n"
		gateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: a}\nspec: {parentRefs: [{name: eg}], rules: [{backendRefs: [{name: a, port: 80}]REST}]}\n---\n"
		class   = "apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: eg}\nspec: {controllerName: gateway.envoyproxy.io/gatewayclass-controller}\n---\n"
		pods    = "spec: {replicas: 6, selector: {}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: x}]}}}\n---\n"
		svc     = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: a}, ports: [{port: 80}]}\n---\n"
	)
	rule := func(host, spec string) string {
		return "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: " + host + "}\nspec: {host: " + host + ", " + spec + "}\n---\n"
	}
	route := func(host, http string) string {
		return "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: " + host + "}\nspec: {hosts: [" + host + "], http: [{route: [{destination: {host: " + host + "}}], " + http + "}]}\n---\n"
	}
	const connect = "trafficPolicy: {connectionPool: {tcp: {connectTimeout: 100ms}}}"
	const detector = "trafficPolicy: {outlierDetection: {consecutive5xxErrors: 5, maxEjectionPercent: 20}}"
	for _, c := range []struct{ name, contract, mesh, want string }{
		{"Istio's default repeats no errors since 1.24", istio, rule("a", connect) + rule("b", connect), "-R01 -R05 T03"},
		{"and did until 1.23", own + "mesh: {version: '1.23'}\n", rule("b", connect), "R01 R05"},
		{"connections that fail are no load", istio, route("b", "timeout: 700ms, retries: {attempts: 2, retryOn: 'connect-failure,refused-stream'}"), "-R01 -R05"},
		{"errors are", istio, route("b", "timeout: 700ms, retries: {attempts: 2, retryOn: '5xx'}"), "R01 R05"},
		{"the mesh's default is in the place of Istio's", own + "mesh: {version: '1.23'}\n", rule("b", connect) + "meshConfig: {defaultHttpRetryPolicy: {attempts: 0}}\n", "-R01 -R05"},
		{"and may be worse", istio, rule("b", connect) + "meshConfig: {defaultHttpRetryPolicy: {attempts: 4, retryOn: 5xx}}\n", "R01 R05"},
		{"a gateway's default is 15 s", own, class + strings.Replace(gateway, "REST", "", 1), "-T03"},
		{"backendRequest bounds the whole", own, class + strings.Replace(gateway, "REST", ", timeouts: {backendRequest: 1s}", 1), "-T03 -T07 -T06"},
		{"nobody knows the default of a gateway that nothing names", own, strings.Replace(gateway, "REST", "", 1), "-T03 -T07"},
		{"a budget before the field was there", own + "mesh: {version: '1.26'}\n", rule("b", "trafficPolicy: {retryBudget: {percent: 20}}"), "R09"},
		{"a budget without percent before it was mended", own + "mesh: {version: '1.28.5'}\n", rule("b", "trafficPolicy: {retryBudget: {minRetryConcurrency: 1}}"), "R09"},
		{"and after", own + "mesh: {version: '1.28.6'}\n", rule("b", "trafficPolicy: {retryBudget: {minRetryConcurrency: 1}}"), "-R09"},
		{"a subset's own budget is dropped too", own + "mesh: {version: '1.29.1'}\n", rule("b", "subsets: [{name: v1, trafficPolicy: {retryBudget: {percent: 20}}}]") + strings.Replace(route("b", "timeout: 1s"), "{host: b}", "{host: b, subset: v1}", 1), "R09"},
		{"and since 1.29.2 not", istio, rule("b", "subsets: [{name: v1, trafficPolicy: {retryBudget: {percent: 20}}}]") + strings.Replace(route("b", "timeout: 1s"), "{host: b}", "{host: b, subset: v1}", 1), "-R09 -P03"},
		{"settings of a port drop a budget in every version", own + "mesh: {version: '1.30.0'}\n", rule("b", "trafficPolicy: {retryBudget: {percent: 20}, portLevelSettings: [{port: {number: 8080}}]}"), "R09"},
		{"a probe that shares the door is refused with the rest", strings.Replace(istio, "queue: 16,", "queue: 2, probes: shared,", 1), "", "K02"},
		{"a route may be shorter than what it leads to", istio, route("b", "timeout: 1ms, retries: {attempts: 0}"), "T05"},
		{"and so inbound", istio, route("a", "timeout: 1s, retries: {attempts: 1, perTryTimeout: 50ms, retryOn: reset}"), "T05"},
		{"a route that is long enough", istio, route("b", "timeout: 700ms, retries: {attempts: 0}") + route("a", "timeout: 1900ms, retries: {attempts: 0}"), "-T05"},
		{"a breaker inbound", istio, rule("a", "trafficPolicy: {connectionPool: {tcp: {maxConnections: 1}}}"), "C15"},
		{"a breaker below the program's own cap", strings.Replace(istio, "attempts: 2", "attempts: 2, inFlight: 40", 1), rule("b", "trafficPolicy: {connectionPool: {tcp: {maxConnections: 30}}}"), "C15"},
		{"requests that may wait for a connection", strings.Replace(istio, "120/s, deadline", "1200/s, deadline", 1), rule("a", "trafficPolicy: {connectionPool: {http: {http1MaxPendingRequests: 1}}}"), "C15"},
		{"breakers that are wide", istio, rule("a", "trafficPolicy: {connectionPool: {tcp: {maxConnections: 1000}, http: {http1MaxPendingRequests: 1000, http2MaxRequests: 1000}}}"), "-C15"},
		{"another number of replicas", istio, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n" + strings.Replace(pods, "6", "2", 1), "K10"},
		{"KEDA scales it", istio, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n" + pods + "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: a}\nspec: {scaleTargetRef: {name: a}, minReplicaCount: 6, maxReplicaCount: 40}\n", "K10 K05"},
		{"the same number", istio, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n" + pods, "-K10 K05"},
		{"a Rollout is a workload", istio, svc + "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\n" + pods, "-K10 K05"},
		{"a DaemonSet is one", istio, "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\nspec: {selector: {}, template: {spec: {containers: [{name: a}]}}}\n", "-K10 K05"},
		{"versions behind one Service count together", istio, svc + "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a-v1}\n" + strings.Replace(pods, "6", "4", 1) + "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a-v2}\n" + strings.Replace(pods, "6", "2", 1), "-K10 K05"},
		{"one cause is one finding", istio, rule("a", detector) + route("a", "retries: {attempts: 0}"), "T06 -T03"},
		{"gRPC tells the proxy the deadline", istio, rule("a", detector) + "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{name: grpc, port: 80}]}\n", "-T06"},
		{"nobody left is said once", istio, rule("a", strings.Replace(detector, "20", "100", 1)), "O03 -O04"},
		{"a subset that there is not", istio, rule("b", "subsets: [{name: v1}]") + strings.Replace(route("b", "timeout: 1s"), "{host: b}", "{host: b, subset: v2}", 1), "P03"},
		{"a condition that there is not", istio, route("b", "timeout: 1s, retries: {attempts: 1, retryOn: 'conect-failure,503'}"), "P04"},
		{"conditions that there are", istio, route("b", "timeout: 1s, retries: {attempts: 1, retryOn: 'connect-failure,503,reset-before-request'}"), "-P04"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := worldWith(t, c.contract, c.mesh, Options{})
			var got []string
			for _, f := range w.Check(Baseline{}).Findings {
				got = append(got, f.Rule)
			}
			for _, want := range strings.Fields(c.want) {
				rule, silent := strings.CutPrefix(want, "-")
				if slices.Contains(got, rule) == silent {
					t.Errorf("findings = %v, want %s", got, want)
				}
			}
		})
	}
}

func TestNumbersForOneFieldAgree(t *testing.T) {
	found := []Finding{{Rule: "O01", Remedy: "maxEjectionPercent 54 or less"}, {Rule: "O04", Remedy: "maxEjectionPercent 79 or less: reserve"}, {Rule: "C01", Remedy: "a cap of 3 or less"}}
	agree(found)
	if found[0].Remedy != "maxEjectionPercent 54 or less" || found[1].Remedy != "maxEjectionPercent 54 or less: reserve" || found[2].Remedy != "a cap of 3 or less" {
		t.Errorf("agree = %+v, want 54 in both, with which both are mended", found)
	}
}

func TestAnEnvoyFilterIsNamed(t *testing.T) {
	w := worldOf(t, "http", "apiVersion: networking.istio.io/v1alpha3\nkind: EnvoyFilter\nmetadata: {name: x}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b}\n")
	if notes := w.Check(Baseline{}).Notes; len(notes) == 0 || !strings.Contains(strings.Join(notes, "\n"), "an EnvoyFilter, which may change anything") {
		t.Errorf("Notes = %q, want that there is an EnvoyFilter", notes)
	}
}
