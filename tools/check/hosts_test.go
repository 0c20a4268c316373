package check

import (
	"slices"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

func TestManifestsSayHowManyHostsAnUpstreamHas(t *testing.T) {
	const (
		deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b}\nspec: {replicas: 4}\n"
		set        = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: b}\nspec: {replicas: 3}\n"
		scaler     = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: b}\nspec: {scaleTargetRef: {kind: Deployment, name: b}, minReplicas: 2, maxReplicas: 20}\n"
		unscaled   = "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: b}\nspec: {scaleTargetRef: {kind: StatefulSet, name: b}, maxReplicas: 7}\n"
		elsewhere  = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: staging}\nspec: {replicas: 9}\n---\n"
		here       = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: prod}\nspec: {replicas: 5}\n"
	)
	for _, c := range []struct {
		name, host, mesh string
		want             []int
	}{
		{"a Deployment", "b", deployment, []int{4}},
		{"a StatefulSet", "b", set, []int{3}},
		{"an autoscaler", "b", deployment + scaler, []int{2, 20}},
		{"an autoscaler without a least number", "b", set + unscaled, []int{1, 7}},
		{"an autoscaler of something else", "b", deployment + unscaled, []int{4}},
		{"one of the same name in another namespace", "b.prod.svc.cluster.local", elsewhere + here, []int{5}},
		{"none at all", "c", deployment, nil},
		{"one in each of two namespaces, and none is asked for", "b", elsewhere + here, []int{9}},
		{"none in the namespace", "b.prod", elsewhere, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := worldOf(t, "http", c.mesh).hostsOf(c.host); !slices.Equal(got, c.want) {
				t.Errorf("hostsOf(%s) = %v, want %v", c.host, got, c.want)
			}
		})
	}
}

func TestEjectionIsJudgedAtBothEndsOfAnUpstreamsAutoscaler(t *testing.T) {
	const mesh = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: b}\nspec: {replicas: 3}\n---\n" +
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: b}\nspec: {scaleTargetRef: {kind: StatefulSet, name: b}, minReplicas: 2, maxReplicas: 20}\n---\n" +
		"apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: b}\nspec: {host: b, trafficPolicy: {outlierDetection: {maxEjectionPercent: 10}}}\n"
	if found := only(worldOf(t, "http", mesh), "O05"); len(found) != 1 {
		t.Errorf("O05 = %+v, want it: 10%% of the least 2 hosts is none", found)
	}
}

func TestAReportSaysWhenNoPodsAreTheServices(t *testing.T) {
	const workload = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec: {replicas: 4}\n---\n"
	named := func(names ...string) string {
		var b strings.Builder
		for _, name := range names {
			b.WriteString(strings.Replace(workload, "NAME", name, 1))
		}
		return b.String()
	}
	for _, c := range []struct{ name, mesh, want string }{
		{"its own", named("a", "x"), ""},
		{"none at all", "", ""},
		{"another's", named("web", "orders"), "no workload is called a, and no Service of its name selects one, so its pods are not checked; read were web, orders"},
		{"many others'", named("web", "orders", "x-1", "x-2", "x-3"), "no workload is called a, and no Service of its name selects one, so its pods are not checked; read were web, orders, x-1 and 2 more"},
		{"one that is near", named("web", "aa"), "no workload is called a, and no Service of its name selects one, so its pods are not checked; read were aa"},
		{"only other kinds", "kind: Secret\napiVersion: v1\n---\nkind: Role\napiVersion: v1\n", "nothing of what was read says anything about calls: 2 documents of other kinds"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(worldOf(t, "http", c.mesh).Check(Baseline{}).Notes, "\n"); got != c.want {
				t.Errorf("Notes = %q, want %q", got, c.want)
			}
		})
	}
}

// versions are two Deployments behind one Service, as a canary has them.
const versions = `apiVersion: v1
kind: Service
metadata: {name: b}
spec: {selector: {app: b}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: b-v1}
spec: {replicas: 9, template: {metadata: {labels: {app: b, version: v1}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: b-v2}
spec: {replicas: 2, template: {metadata: {labels: {app: b, version: v2}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: b-v3, namespace: other}
spec: {replicas: 50, template: {metadata: {labels: {app: b, version: v2}}}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: b}
spec:
  host: b
  trafficPolicy: {outlierDetection: {maxEjectionPercent: 10}}
  subsets:
    - {name: v1, labels: {version: v1}}
    - {name: v2, labels: {version: v2}, trafficPolicy: {outlierDetection: {maxEjectionPercent: 60}}}
    - {name: v9, labels: {version: v9}, trafficPolicy: {outlierDetection: {maxEjectionPercent: 70}}}
`

func TestAServiceSelectsItsPods(t *testing.T) {
	inShop := strings.NewReplacer("{name: b}", "{name: b, namespace: shop}", "b-v1}", "b-v1, namespace: shop}", "b-v2}", "b-v2, namespace: shop}").Replace(versions)
	w := inNamespaces(t, "b", "---\n"+inShop)
	if got := w.Calls[0].Hosts; !slices.Equal(got, []int{11}) {
		t.Errorf("hosts of b = %v, want those of both versions in its namespace", got)
	}
	hosts := map[int][]int{}
	for _, c := range w.detected() {
		hosts[c.Policy.Detector.Max] = c.Hosts
	}
	if !slices.Equal(hosts[60], []int{2}) || !slices.Equal(hosts[70], []int{11}) {
		t.Errorf("hosts of the subsets = %v, want 2 of v2, and all where no manifest has the subset's", hosts)
	}
}

func TestAWorkloadIsThatOfItsService(t *testing.T) {
	mesh := strings.NewReplacer("{name: b}", "{name: a}", "host: b", "host: a").Replace(versions)
	if w := worldOf(t, "http", mesh); w.Service.Workload != "b-v1" || w.Service.Min != 61 || len(w.Check(Baseline{}).Notes) == 0 {
		t.Errorf("service = %+v, want the first of those that its Service selects, the pods of all, and a note", w.Service)
	}
	one := strings.Replace(mesh, "{app: b, version: v2}", "{app: c}", 2)
	scaler := "---\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: h}\nspec: {scaleTargetRef: {kind: Deployment, name: b-v1}, minReplicas: 7, maxReplicas: 8}\n"
	if s := worldOf(t, "http", one+scaler).Service; s.Workload != "b-v1" || s.Min != 7 || s.AutoMax != 8 {
		t.Errorf("service = %+v, want the only workload that its Service selects, and its autoscaler", s)
	}
}

func TestANoteNamesTheNamespace(t *testing.T) {
	c, err := contract.Parse("f", []byte("service: a\nreplicas: {min: 6}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	set := manifest.Parse("m", []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a, namespace: prod}\nspec: {replicas: 4}\n"))
	notes := NewWorld(c, set, Options{Namespace: "prdo"}).Check(Baseline{}).Notes
	if len(notes) != 1 || !strings.Contains(notes[0], "is called a in the namespace prdo, and") || !strings.HasSuffix(notes[0], "read were prod/a") {
		t.Errorf("notes = %q, want both namespaces", notes)
	}
}
