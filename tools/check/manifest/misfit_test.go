package manifest

import (
	"fmt"
	"strings"
	"testing"
)

func TestAValueThatDoesNotFitIsNamedWithItsLine(t *testing.T) {
	const (
		istioRule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: b}\nspec:\n  host: b\n  trafficPolicy:\n"
		service   = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: b}\nspec:\n"
		pods      = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n"
		route     = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\nspec:\n"
	)
	for _, c := range []struct{ name, text, want string }{
		{"a number", istioRule + "    outlierDetection:\n      maxEjectionPercent: fifty\n", `8: DestinationRule/b: spec.trafficPolicy.outlierDetection.maxEjectionPercent: "fifty" does not fit; a number such as 1 would do`},
		{"a number below 0", istioRule + "    outlierDetection:\n      consecutive5xxErrors: -1\n", `8: DestinationRule/b: spec.trafficPolicy.outlierDetection.consecutive5xxErrors: -1 does not fit; a number such as 1 would do`},
		{"a duration", istioRule + "    outlierDetection:\n      interval: 10\n", `8: DestinationRule/b: spec.trafficPolicy.outlierDetection.interval: 10 does not fit; a duration such as 5s would do`},
		{"a truth", istioRule + "    loadBalancer: {localityLbSetting: {enabled: perhaps}}\n", `7: DestinationRule/b: spec.trafficPolicy.loadBalancer.localityLbSetting.enabled: "perhaps" does not fit; true or false would do`},
		{"one of some words", istioRule + "    loadBalancer: {simple: LEAST}\n", `7: DestinationRule/b: spec.trafficPolicy.loadBalancer.simple: "LEAST" does not fit; one of UNSPECIFIED, LEAST_CONN, RANDOM,`},
		{"a mapping", istioRule + "    portLevelSettings:\n    - port: 80\n", `8: DestinationRule/b: spec.trafficPolicy.portLevelSettings[0].port: 80 does not fit; a mapping would do`},
		{"a percentage of a port", istioRule + "    portLevelSettings:\n    - port: {number: 80}\n      outlierDetection: {maxEjectionPercent: 101}\n", `9: DestinationRule/b: spec.trafficPolicy.portLevelSettings[0].outlierDetection.maxEjectionPercent: 101 is not in [0, 100]; 50 would do`},
		{"a list", service + "  http:\n    timeout: 3s\n", `5: VirtualService/b: spec.http: a mapping does not fit; a list would do`},
		{"two values", service + "  http:\n  - timeout: soon\n    retries:\n      attempts: two\n", "6: VirtualService/b: spec.http[0].timeout: \"soon\" does not fit; a duration such as 5s would do\n8: VirtualService/b: spec.http[0].retries.attempts: \"two\" does not fit; a number such as 1 would do"},
		{"text", service + "  hosts: [1]\n", `5: VirtualService/b: spec.hosts[0]: 1 does not fit; text would do`},
		{"a field of Kubernetes", pods + "  template: {spec: {containers: [{name: a}, {name: b, readinessProbe: {periodSeconds: 5s}}]}}\n", `5: Deployment/a: spec.template.spec.containers[1].readinessProbe.periodSeconds: "5s" does not fit; a number such as 1 would do`},
		{"a field of an embedded type", route + "  rules:\n  - backendRefs: [{name: b, port: http}]\n", `6: HTTPRoute/r: spec.rules[0].backendRefs[0].port: "http" does not fit; a number such as 1 would do`},
		{"a duration of a route", route + "  rules:\n  - timeouts:\n      request: 3 s\n      backendRequest: 1.5s\n", "7: HTTPRoute/r: spec.rules[0].timeouts.request: \"3 s\" is not a duration; 5s would do, or 500ms\n8: HTTPRoute/r: spec.rules[0].timeouts.backendRequest: \"1.5s\" is not a duration; 5s would do, or 500ms"},
		{"a field of Envoy", "name: b\nconnect_timeout: 5\n", `2: EnvoyCluster/b: connect_timeout: 5 does not fit; a duration such as 5s would do`},
		{"a cluster of a dump", `{"configs":[{},{"static_clusters":[{"cluster":{"name":1}}]}]}`, `1: EnvoyConfigDump: configs[1].static_clusters[0].cluster.name: 1 does not fit; text would do`},
		{"a service config", "methodConfig:\n- retryPolicy: {maxAttempts: '3'}\n", `2: GRPCServiceConfig: methodConfig[0].retryPolicy.maxAttempts: "3" does not fit; a number such as 1 would do`},
		{"a timeout of a service config", "methodConfig:\n- name: [{}]\n- timeout: 5m\n", `3: GRPCServiceConfig: methodConfig[1].timeout: "5m" is not a duration in seconds; 1.5s would do`},
		{"a text that is a configuration", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata:\n  mesh: 'connectTimeout: 5'\n", `1: ConfigMap/istio: data.mesh: connectTimeout: 5 does not fit; a duration such as 5s would do`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range Parse("f", []byte(c.text)).Problems {
				got = append(got, fmt.Sprintf("%d: %s", p.Line, p.Text))
			}
			if text := strings.Join(got, "\n"); !strings.HasPrefix(text, c.want) || strings.Count(text, "\n") != strings.Count(c.want, "\n") {
				t.Errorf("Parse finds %q, want %q", text, c.want)
			}
		})
	}
}

func TestADeepDocumentIsNotSearchedToItsEnd(t *testing.T) {
	const levels = 2000
	text := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {affinity: " + strings.Repeat("{x: ", levels) + "1" + strings.Repeat("}", levels) + ", containers: 5}}}\n"
	problems := Parse("f", []byte(text)).Problems
	if len(problems) != 1 || !strings.Contains(problems[0].Text, "spec.template.spec.containers: 5 does not fit; a list would do") {
		t.Errorf("Parse finds %v, want the containers", problems)
	}
}

func TestAnUnknownFieldIsComparedWithThoseThatThereAre(t *testing.T) {
	for text, want := range map[string]string{
		"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [{name: a}, {name: b, redinessProbe: {}}]}}}\n":                "readinessProbe",
		"apiVersion: apps/v1\nkind: Deployment\nspec: {template: {spec: {containers: [{name: a, readinessProbe: {httpGett: {}}}]}}}\n":              "httpGet", // of an embedded type
		"apiVersion: networking.istio.io/v1\nkind: DestinationRule\nspec: {trafficPolicy: {conectionPool: {}}}\n":                                   "connectionPool",
		"apiVersion: networking.istio.io/v1\nkind: DestinationRule\nspec: {subsets: [{trafficPolicy: {outlierDetection: {minHelthPercent: 1}}}]}\n": "minHealthPercent",
		"apiVersion: networking.istio.io/v1\nkind: VirtualService\nspec: {http: [{timeouts: 3s}]}\n":                                                "timeout",
		"meshConfig: {defaultConfg: {}}\n": "defaultConfig",
		"apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec: {rules: [{timeout: {request: 3s}}]}\n": "timeouts",
		"apiVersion: apps/v1\nkind: Deployment\nspec: {somethingElseAltogether: 1}\n":                            "",
	} {
		problems := Parse("f", []byte(text)).Problems
		if len(problems) != 1 || problems[0].Meant != want {
			t.Errorf("Parse(%q) finds %+v, want a field near %q", text, problems, want)
		}
	}
}
