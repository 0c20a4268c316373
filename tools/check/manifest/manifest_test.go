package manifest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

const rule = `apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: authz, namespace: prod}
spec:
  host: authz
  trafficPolicy:
    outlierDetection:
      consecutive5xx: 1
      interval: 5m
      baseEjectionTime: 30s
      maxEjectionPercent: 100
`

func TestAMisspeltFieldIsAProblemWithItsPlace(t *testing.T) {
	s := Parse("dr.yaml", []byte("# a comment\n---\n"+rule))
	want := []Problem{{
		Ref: Ref{"dr.yaml", 10}, Object: "DestinationRule/authz", Field: "spec.trafficPolicy.outlierDetection.consecutive5xx",
		Text: "DestinationRule has no field spec.trafficPolicy.outlierDetection.consecutive5xx", Meant: "consecutive5xxErrors",
	}}
	if !slices.Equal(s.Problems, want) {
		t.Fatalf("Problems = %+v, want %+v", s.Problems, want)
	}
	found := Of[*DestinationRule](s)
	if len(found) != 1 {
		t.Fatalf("objects = %v, want the rule all the same", s.Objects)
	}
	od := found[0].Value.(*DestinationRule).TrafficPolicy.OutlierDetection
	if od.Interval.AsDuration() != 5*time.Minute || od.MaxEjectionPercent != 100 {
		t.Errorf("outlierDetection = %v, want an interval of 5m and 100 %%", od)
	}
	if at := found[0].At("spec", "trafficPolicy", "outlierDetection", "maxEjectionPercent"); at.Line != 13 {
		t.Errorf("At(maxEjectionPercent) = %v, want line 13", at)
	}
}

func TestEveryFormIsRead(t *testing.T) {
	for _, c := range []struct{ name, text, kind, object string }{
		{"deployment", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3, selector: {}, template: {}}\n", "Deployment", "a"},
		{"rollout", "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: a}\nspec: {replicas: 3, template: {spec: {affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: {}}}, containers: [{name: a, resources: {requests: {memory: some}}}]}}}\n", "Rollout", "a"},
		{"scaled object", "apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nmetadata: {name: a}\nspec: {scaleTargetRef: {name: a}, maxReplicaCount: 9}\n", "ScaledObject", "a"},
		{"old hpa", "apiVersion: autoscaling/v2beta1\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: a}, metrics: [{type: Resource, resource: {name: cpu, targetAverageUtilization: 80}}]}\n", "HorizontalPodAutoscaler", "a"},
		{"hpa", "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: a}}\n", "HorizontalPodAutoscaler", "a"},
		{"virtual service", "apiVersion: networking.istio.io/v1beta1\nkind: VirtualService\nmetadata: {name: v}\nspec: {hosts: [a], http: [{timeout: 3s, retries: {attempts: 2, perTryTimeout: 1s}, route: [{destination: {host: a}}]}]}\n", "VirtualService", "v"},
		{"mesh config map", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata:\n  mesh: |\n    defaultConfig: {proxyStatsMatcher: {inclusionRegexps: ['.*outlier.*']}}\n", "ConfigMap", "istio"},
		{"operator", "apiVersion: install.istio.io/v1alpha1\nkind: IstioOperator\nmetadata: {name: o}\nspec: {meshConfig: {localityLbSetting: {enabled: false}}}\n", "IstioOperator", "o"},
		{"mesh config excerpt", "meshConfig: {accessLogFile: /dev/stdout}\n", "MeshConfig", ""},
		{"http route", "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: r}\nspec: {rules: [{timeouts: {request: 3s}, retry: {attempts: 2}}]}\n", "HTTPRoute", "r"},
		{"gateway policy", "apiVersion: gateway.envoyproxy.io/v1alpha1\nkind: BackendTrafficPolicy\nmetadata: {name: p}\nspec: {healthCheck: {passive: {consecutive5XxErrors: 5}, panicThreshold: 50}}\n", "BackendTrafficPolicy", "p"},
		{"retry constraint", "apiVersion: gateway.networking.x-k8s.io/v1alpha1\nkind: XBackendTrafficPolicy\nmetadata: {name: p}\nspec: {targetRefs: [], retryConstraint: {budget: {percent: 20}}}\n", "XBackendTrafficPolicy", "p"},
		{"alerts", "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: p}\nspec: {groups: [{rules: [{alert: A, expr: up == 0}, {record: b, expr: 1}]}]}\n", "PrometheusRule", "p"},
		{"envoy cluster", "name: authz\nconnect_timeout: 1s\noutlier_detection: {consecutive_5xx: 3}\ntyped_extension_protocol_options: {x: {'@type': type.googleapis.com/unknown.Type, a: 1}}\n", "EnvoyCluster", "authz"},
		{"bootstrap", "static_resources: {clusters: [{name: a, connect_timeout: 1s}], listeners: [{filter_chains: [{filters: [{typed_config: {route_config: {name: r, virtual_hosts: []}}}]}]}]}\n", "EnvoyBootstrap", ""},
		{"config dump", `{"configs":[{"@type":"x","dynamic_active_clusters":[{"cluster":{"@type":"y","name":"outbound|80||a","connect_timeout":"1s","from_the_future":1}}]},{"dynamic_route_configs":[{"route_config":{"@type":"z","name":"80","virtual_hosts":[]}}]}]}`, "EnvoyConfigDump", ""},
		{"istioctl", `[{"name":"outbound|80||a","connectTimeout":"1s"}]`, "EnvoyCluster", "outbound|80||a"},
		{"clusters in JSON", `{"cluster_statuses":[{"name":"a","host_statuses":[{"health_status":{"failed_outlier_check":true}}]}]}`, "EnvoyClusters", ""},
		{"clusters in text", "outbound|80||a::default_priority::max_connections::1024\noutbound|80||a::10.0.0.1:80::health_flags::/failed_outlier_check\n", "EnvoyClusters", "clusters"},
		{"stats", "cluster.outbound|80||a.lb_healthy_panic: 12\n", "EnvoyStats", "stats"},
		{"service config", `{"methodConfig":[{"name":[{}],"timeout":"1s","retryPolicy":{"maxAttempts":4}}]}`, "GRPCServiceConfig", ""},
		{"a list", "apiVersion: v1\nkind: List\nitems:\n- apiVersion: apps/v1\n  kind: StatefulSet\n  metadata: {name: s}\n  spec: {selector: {}, template: {}, serviceName: s}\n- {apiVersion: v1, kind: Secret, metadata: {name: x}}\n", "StatefulSet", "s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Parse("f", []byte(c.text))
			if len(s.Problems) > 0 || len(s.Objects) != 1 || s.Objects[0].Kind != c.kind || s.Objects[0].Name != c.object {
				t.Errorf("Parse = %+v, problems %+v, want one %s/%s", s.Objects, s.Problems, c.kind, c.object)
			}
		})
	}
}

func TestTypedValues(t *testing.T) {
	s := Parse("f", []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {replicas: 24}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: a}
spec: {maxReplicas: 30}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: r}
spec: {rules: [{retry: {attempts: 2}}]}
---
apiVersion: gateway.envoyproxy.io/v1alpha1
kind: BackendTrafficPolicy
metadata: {name: p}
spec: {retry: {numRetries: 3}}
`))
	if d := Of[*appsv1.Deployment](s); len(d) != 1 || *d[0].Value.(*appsv1.Deployment).Spec.Replicas != 24 || d[0].Line != 1 {
		t.Errorf("deployments = %+v, want one of 24 replicas at line 1", d)
	}
	if h := Of[*autoscalingv2.HorizontalPodAutoscaler](s); len(h) != 1 || h[0].Line != 6 {
		t.Errorf("autoscalers = %+v, want one at line 6", h)
	}
	if r := Of[*gwv1.HTTPRoute](s); len(r) != 1 || *r[0].Value.(*gwv1.HTTPRoute).Spec.Rules[0].Retry.Attempts != 2 {
		t.Errorf("routes = %+v, want 2 attempts", r)
	}
	if p := Of[*eg.BackendTrafficPolicy](s); len(p) != 1 || *p[0].Value.(*eg.BackendTrafficPolicy).Spec.Retry.NumRetries != 3 {
		t.Errorf("policies = %+v, want 3 retries", p)
	}
}

func TestANewerStatusIsNoProblem(t *testing.T) {
	s := Parse("f", []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, managedFields: [{newer: 1}]}\nspec: {replicas: 3}\nstatus: {newer: 1}\n"))
	if len(s.Problems) != 0 || len(s.Objects) != 1 {
		t.Errorf("Parse = %+v, problems %+v, want none", s.Objects, s.Problems)
	}
}

func TestBadInputIsAProblemAndNoMore(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"syntax", "kind: Deployment\n a: b\n", "mapping values are not allowed"},
		{"a wrong type", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: many}\n", `Deployment/a: spec.replicas: "many" does not fit; a number such as 1 would do`},
		{"a wrong type in Istio", strings.Replace(rule, "interval: 5m", "interval: soon", 1), "soon"},
		{"a bomb", "kind: DestinationRule\napiVersion: networking.istio.io/v1\na: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", "excessive aliasing"},
		{"no group", "kind: Deployment\nmetadata: {{ .Values.x }}\n", "without an apiVersion; apps/… would do"},
		{"a word", "hello\n", "neither a manifest"},
		{"depth", "kind: Deployment\nx: " + strings.Repeat("[", 20000), "exceeded max depth"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Parse("f", []byte(c.text))
			if len(s.Problems) == 0 || !strings.Contains(s.Problems[0].Text, c.want) {
				t.Errorf("Problems = %+v, want %q", s.Problems, c.want)
			}
		})
	}
}

func TestOtherKindsAreSkipped(t *testing.T) {
	s := Parse("f", []byte("apiVersion: v1\nkind: Secret\nmetadata: {name: x}\ndata: {a: [}\n---\napiVersion: v1\nkind: ConfigMap\ndata: {x: y}\n---\napiVersion: other/v1\nkind: Service\n---\n# nothing\n"))
	if len(s.Objects) != 0 || len(s.Problems) != 0 || s.Skipped != 3 {
		t.Errorf("Parse = %+v, want three skipped", s)
	}
}

func TestReadWalksDirectoriesAndStdin(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a/dr.yaml": rule, "b.txt": "cluster.a.b: 1\n", "c.md": "no: yaml"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Read([]string{dir, "-"}, strings.NewReader(rule))
	if err != nil || len(s.Objects) != 3 || s.Objects[2].File != "-" {
		t.Errorf("Read = %+v, %v, want two rules and the stats, stdin last", s, err)
	}
	if _, err := Read([]string{filepath.Join(dir, "none")}, nil); err == nil {
		t.Error("Read of a missing file = nil, want an error")
	}
}

func TestHostsAreCountedByTheirFlags(t *testing.T) {
	s := Parse("f", []byte("a::10.0.0.1:80::health_flags::/failed_outlier_check\na::10.0.0.2:80::health_flags::healthy\na::10.0.0.3:80::health_flags::/failed_eds_health\na::10.0.0.3:80::weight::1\n"))
	h := Of[*Hosts](s)
	if len(h) != 1 || *h[0].Value.(*Hosts).Clusters["a"] != (HostCount{Total: 3, Ejected: 1, Unready: 1}) {
		t.Errorf("hosts = %+v, want 3 with one ejected and one unready", h)
	}
}

func TestStatsCountHosts(t *testing.T) {
	s := Parse("f", []byte("cluster.outbound|80||a.membership_total: 24\ncluster.outbound|80||a.membership_healthy: 15\ncluster.outbound|80||a.outlier_detection.ejections_active: 6\ncluster.b.membership_total: 1\n"))
	got, ok := Of[*Stats](s)[0].Value.(*Stats).Hosts(func(cluster string) bool { return Host(cluster) == "a" })
	if want := (HostCount{Total: 24, Ejected: 6, Unready: 3}); !ok || got != want {
		t.Errorf("Hosts = %+v, %v, want %+v", got, ok, want)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(rule))
	f.Add([]byte("kind: List\nitems: [{kind: Deployment, apiVersion: apps/v1}, 1, []]\n"))
	f.Add([]byte(`{"configs":[{"dynamic_active_clusters":[{"cluster":{"@type":1,"name":[]}}]}]}`))
	f.Add([]byte("a::b.c::health_flags::x\na.b.c: 1\n"))
	f.Add([]byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: istio}\ndata:\n  mesh: '{a: &a [*a]}'\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := Parse("f", data)
		for _, o := range s.Objects {
			if o.At("spec", "x").File != "f" {
				t.Errorf("%v has no place", o)
			}
		}
	})
}

func TestAPercentageThatIsNoneIsRefused(t *testing.T) {
	s := Parse("f", []byte(strings.Replace(rule, "maxEjectionPercent: 100", "maxEjectionPercent: 101\n      minHealthPercent: -1", 1)))
	if len(s.Objects) != 0 || len(s.Problems) != 2 || !strings.HasSuffix(s.Problems[0].Text, "maxEjectionPercent: 101 is not in [0, 100]; 50 would do") || !strings.HasSuffix(s.Problems[1].Text, "minHealthPercent: -1 is not in [0, 100]; 50 would do") {
		t.Errorf("Parse = %+v, %+v, want a problem with each number and no object", s.Objects, s.Problems)
	}
}
