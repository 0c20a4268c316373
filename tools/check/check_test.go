package check_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

func TestAnUnknownVersionNamesTheOnesThatDiffer(t *testing.T) {
	contractText, mesh := healthy(t)
	contractText = strings.Replace(contractText, `, version: "1.30.1"`, "", 1)
	contractText = strings.Replace(contractText, "min: 12, max: 12", "min: 9, max: 9", 1)
	mesh = strings.NewReplacer("replicas: 12", "replicas: 9", "minReplicas: 12", "minReplicas: 9", "maxReplicas: 12", "maxReplicas: 9", "maxEjectionPercent: 20", "maxEjectionPercent: 10").Replace(mesh)
	mesh = strings.ReplaceAll(mesh, "networking.istio.io/v1\n", "networking.istio.io/v1beta1\n")
	r := checkTexts(t, contractText, mesh)
	i := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return f.Rule == "O05" })
	if i < 0 || !strings.Contains(r.Findings[i].Evidence, "so with Istio 1.20 to 1.30, Istio 1.31 and later, not with Istio 1.3 to 1.18, Istio 1.19") {
		t.Fatalf("findings = %+v, want O05 with the versions in which it differs", r.Findings)
	}
	known := checkTexts(t, strings.Replace(contractText, "controlPlane: istio", `controlPlane: istio, version: "1.18"`, 1), mesh)
	if slices.ContainsFunc(known.Findings, func(f check.Finding) bool { return f.Rule == "O05" }) {
		t.Errorf("findings with Istio 1.18 = %+v, want no O05: it ejects one host all the same", known.Findings)
	}
}

func TestTheVersionIsReadFromTheImage(t *testing.T) {
	contractText, mesh := healthy(t)
	contractText = strings.Replace(contractText, `, version: "1.30.1"`, "", 1)
	mesh = strings.Replace(mesh, "      containers:\n", "      containers:\n        - {name: istio-proxy, image: 'docker.example/istio/proxyv2:1.29.2-distroless'}\n", 1)
	c, err := contract.Parse("f", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	w := check.NewWorld(c, manifest.Parse("mesh.yaml", []byte(mesh)), check.Options{})
	if w.Version != "1.29.2-distroless" || len(w.Eras) != 1 || w.Eras[0].Minor != 29 {
		t.Errorf("version = %q, eras %v, want 1.29 from the image", w.Version, w.Eras)
	}
}

func TestIgnoresHoldUntilTheirDay(t *testing.T) {
	contractText, mesh := healthy(t)
	mesh = strings.Replace(mesh, "seconds: 10", "seconds: 1", 1) // fires K05
	contractText += "ignore:\n  - {rule: k05, reason: the mesh drains, expires: 2027-01-15}\n"
	c, err := contract.Parse("f", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	for day, want := range map[string]string{"2027-01-15": "", "2027-01-16": "I01 K05"} {
		now, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		o := check.Options{Now: now.Add(12 * time.Hour)}
		r := check.NewWorld(c, manifest.Parse("mesh.yaml", []byte(mesh)), o).Check(check.Baseline{})
		if got := rules(r); got != want {
			t.Errorf("on %s: %q, want %q", day, got, want)
		}
	}
}

// rules are the IDs of the findings in their order.
func rules(r *check.Report) string {
	var ids []string
	for _, f := range r.Findings {
		ids = append(ids, f.Rule)
	}
	return strings.Join(ids, " ")
}

func TestAnUnusedIgnoreIsAFinding(t *testing.T) {
	contractText, mesh := healthy(t)
	r := checkTexts(t, contractText+"ignore:\n  - {rule: K05, subject: orders, reason: x, expires: 2028-01-01}\n", mesh)
	if got := rules(r); got != "I02" {
		t.Errorf("findings = %q, want I02 alone", got)
	}
}

func TestAnIgnoreDoesNotCoverAnIgnore(t *testing.T) {
	contractText, mesh := healthy(t)
	contractText += "ignore:\n  - {rule: K05, reason: x, expires: 2020-01-01}\n  - {rule: I01, reason: x, expires: 2999-01-01}\n"
	r := checkTexts(t, contractText, mesh)
	if got := rules(r); got != "I01 I02" || r.Ignored != 0 {
		t.Errorf("findings = %q, %d ignored, want the expired ignore, and the other as one that covers nothing", got, r.Ignored)
	}
}

func TestTheBaselineHidesWhatWasThere(t *testing.T) {
	contractText, mesh := healthy(t)
	old := strings.Replace(mesh, "seconds: 10", "seconds: 1", 1)
	known := check.BaselineOf(checkTexts(t, contractText, old))
	c, err := contract.Parse("f", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	worse := strings.Replace(strings.Replace(mesh, "seconds: 10", "seconds: 2", 1), "baseEjectionTime: 30s", "baseEjectionTime: 90s", 1)
	r := check.NewWorld(c, manifest.Parse("mesh.yaml", []byte(worse)), check.Options{}).Check(known)
	if got := rules(r); got != "O08" || r.Ignored != 1 {
		t.Errorf("findings = %q, %d ignored, want only the new O08: the old one's number changed, but it is the same", got, r.Ignored)
	}
	if len(r.Notes) != 0 {
		t.Errorf("notes = %q, want none while all of the baseline is there", r.Notes)
	}
	r = check.NewWorld(c, manifest.Parse("mesh.yaml", []byte(mesh)), check.Options{}).Check(known)
	if len(r.Findings) != 0 || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "the baseline has 1 finding of which nothing is left") {
		t.Errorf("findings = %q, notes %q, want the note that the baseline would hide what is mended", rules(r), r.Notes)
	}
}

func TestTheBaselineDoesNotCoverAnIgnore(t *testing.T) {
	contractText, mesh := healthy(t)
	contractText += "ignore:\n  - {rule: K05, reason: x, expires: 2020-01-01}\n  - {rule: C01, reason: x, expires: 2999-01-01}\n"
	mesh = strings.Replace(mesh, "seconds: 10", "seconds: 1", 1) // fires K05
	c, err := contract.Parse("f", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	w := check.NewWorld(c, manifest.Parse("mesh.yaml", []byte(mesh)), check.Options{})
	known := check.BaselineOf(w.Check(check.Baseline{}))
	if len(known.Findings) != 1 || known.Findings[0].Rule != "K05" {
		t.Errorf("the baseline has %+v, want K05 alone", known.Findings)
	}
	known.Findings = append(known.Findings, check.Known{Rule: "I01", Subject: "K05"}) // of an older one
	if r := w.Check(known); rules(r) != "I01 I02" || r.Ignored != 1 {
		t.Errorf("findings = %q, %d ignored, want both about the ignores", rules(r), r.Ignored)
	}
}

func TestAnUnknownFieldElsewhereIsAFindingToo(t *testing.T) {
	contractText, mesh := healthy(t)
	r := checkTexts(t, contractText, strings.Replace(mesh, "terminationGracePeriodSeconds: 30", "terminationGracePeriodSecond: 30", 1))
	if got := rules(r); got != "P01" || r.Findings[0].Ref.Line == 0 || !strings.Contains(r.Findings[0].Evidence, "terminationGracePeriodSecond") || !strings.HasPrefix(r.Findings[0].Remedy, "terminationGracePeriodSeconds;") {
		t.Errorf("findings = %+v, want P01 with its place and the name that was meant", r.Findings)
	}
}

func TestUnreadableInputIsKeptApart(t *testing.T) {
	contractText, mesh := healthy(t)
	r := checkTexts(t, contractText, mesh+"---\nkind: Deployment\n a: b\n")
	if len(r.Broken) != 1 || len(r.Findings) != 0 {
		t.Errorf("broken = %v, findings %v, want one broken document and no finding", r.Broken, r.Findings)
	}
}

func TestARunningProxyComesBeforeItsManifest(t *testing.T) {
	contractText, mesh := healthy(t)
	dump := `{"configs":[{"dynamic_active_clusters":[{"cluster":{"name":"outbound|80||orders.prod.svc.cluster.local","connect_timeout":"10s","common_lb_config":{"healthy_panic_threshold":{"value":0}},"outlier_detection":{"consecutive_5xx":1,"max_ejection_percent":100}}}]}]}`
	r := checkTexts(t, contractText, mesh+"---\n"+dump)
	if got := rules(r); !strings.Contains(got, "O09") || !strings.Contains(got, "O03") {
		t.Errorf("findings = %q, want O03 and O09 from the running proxy", got)
	}
	dump = `{"configs":[{"dynamic_route_configs":[{"route_config":{"virtual_hosts":[{"name":"a","domains":["*"],"routes":[{"match":{"prefix":"/"},"route":{"cluster":"outbound|80||orders.prod.svc.cluster.local","timeout":"0s"}}]}]}}]}]}`
	if got := rules(checkTexts(t, contractText, mesh+"---\n"+dump)); !strings.Contains(got, "T06") {
		t.Errorf("findings = %q, want T06: the running route has no timeout, whatever the manifest says", got)
	}
}

// cluster is the dump of a cluster with n services, most of which are none of the
// contract's business.
func cluster(n int) []byte {
	var b strings.Builder
	for i := range n / 4 {
		fmt.Fprintf(&b, `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: service-%[1]d
  namespace: prod
  uid: 00000000-0000-0000-0000-%012[1]d
  labels: {app: service-%[1]d}
spec:
  replicas: 3
  selector: {matchLabels: {app: service-%[1]d}}
  template:
    metadata: {labels: {app: service-%[1]d}}
    spec:
      containers:
      - name: service-%[1]d
        image: registry.example/service-%[1]d:1
        env: [{name: A, value: "1"}, {name: B, value: "2"}, {name: C, value: "3"}]
        resources: {requests: {cpu: 100m, memory: 128Mi}, limits: {memory: 256Mi}}
        readinessProbe: {httpGet: {path: /readyz, port: 8080}}
        livenessProbe: {httpGet: {path: /livez, port: 8080}}
        ports: [{containerPort: 8080, name: http, protocol: TCP}]
status: {availableReplicas: 3, readyReplicas: 3, replicas: 3}
---
apiVersion: v1
kind: Service
metadata: {name: service-%[1]d, namespace: prod}
spec: {selector: {app: service-%[1]d}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: service-%[1]d, namespace: prod}
spec:
  host: service-%[1]d
  trafficPolicy:
    connectionPool: {tcp: {connectTimeout: 500ms}, http: {http2MaxRequests: 100}}
    outlierDetection: {consecutive5xxErrors: 5, interval: 10s, baseEjectionTime: 30s, maxEjectionPercent: 20}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: service-%[1]d, namespace: prod}
data:
  config.yaml: |
    a: 1
    b: [1, 2, 3]
`, i)
	}
	return []byte(b.String())
}

func BenchmarkCheck1000Manifests(b *testing.B) {
	contractText, mesh := healthy(b)
	c, err := contract.Parse("offtake.yaml", []byte(contractText), "")
	if err != nil {
		b.Fatal(err)
	}
	data := append([]byte(mesh), cluster(1000)...)
	b.ReportAllocs()
	for b.Loop() {
		set := manifest.Parse("mesh.yaml", data)
		if len(set.Problems) > 0 {
			b.Fatal(set.Problems[0])
		}
		if r := check.NewWorld(c, set, check.Options{}).Check(check.Baseline{}); len(r.Findings) > 0 {
			b.Fatal(r.Findings[0])
		}
	}
}

func FuzzCheck(f *testing.F) {
	contractText, mesh := healthy(f)
	f.Add([]byte(contractText), []byte(mesh))
	f.Add([]byte("service: a\nreplicas: {min: 1}\ncallers: {b: {deadline: 1ns, rate: 1/h, replicas: 1}}\ndoor: {inFlight: 1, latency: 24h}\n"), []byte("kind: DestinationRule\napiVersion: networking.istio.io/v1\nspec: {host: a, trafficPolicy: {outlierDetection: {}}}\n"))
	f.Fuzz(func(t *testing.T, contractText, mesh []byte) {
		c, err := contract.Parse("offtake.yaml", contractText, "")
		if err != nil {
			return
		}
		r := check.NewWorld(c, manifest.Parse("mesh.yaml", mesh), check.Options{}).Check(check.Baseline{})
		for _, finding := range r.Findings {
			if finding.Evidence == "" || finding.Remedy == "" {
				t.Errorf("%+v has no evidence or no remedy", finding)
			}
		}
	})
}

func TestAProxysCountOfHostsComesFirst(t *testing.T) {
	contractText, mesh := healthy(t)
	c, err := contract.Parse("f", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	set := manifest.Parse("mesh.yaml", []byte(mesh))
	stats := manifest.Parse("stats.txt", []byte("cluster.outbound|80||orders.prod.svc.cluster.local.membership_total: 9\ncluster.outbound|80||orders.prod.svc.cluster.local.membership_healthy: 5\n"))
	set.Objects = append(set.Objects, stats.Objects...)
	w := check.NewWorld(c, set, check.Options{})
	i := slices.IndexFunc(w.Calls, func(c check.Call) bool { return c.Inbound })
	if got := w.Calls[i].Hosts; !slices.Equal(got, []int{9}) || w.Mesh.Unready != 4 {
		t.Errorf("hosts = %v, unready %d, want 9 and 4 as the proxy counts them", got, w.Mesh.Unready)
	}
	c.Mesh.Unready = 5
	if w := check.NewWorld(c, set, check.Options{}); w.Mesh.Unready != 5 {
		t.Errorf("unready %d, want the 5 that the contract allows for: now it is only 4", w.Mesh.Unready)
	}
}

func TestALimitBelowOnePlaceEachIsStillReported(t *testing.T) {
	c, err := contract.Parse("f", []byte("service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://b', rate: 60/s, latency: 1s, limit: 5}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	r := check.NewWorld(c, &manifest.Set{}, check.Options{}).Check(check.Baseline{})
	if got := rules(r); got != "C04 C05" || !strings.Contains(r.Findings[0].Detail, "INFEASIBLE") {
		t.Errorf("findings = %q (%+v), want C04 and C05 with the whole answer", got, r.Findings)
	}
}

func TestTwoNamespacesMustBeToldApart(t *testing.T) {
	contractText, mesh := healthy(t)
	c, err := contract.Parse("f", []byte(contractText), "")
	if err != nil {
		t.Fatal(err)
	}
	mesh = strings.Replace(mesh, "kind: Deployment\nmetadata: {name: orders}", "kind: Deployment\nmetadata: {name: orders, namespace: prod}", 1)
	mesh += "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: orders, namespace: staging}\nspec: {replicas: 1, selector: {}, template: {spec: {containers: [{name: a}]}}}\n"
	set := manifest.Parse("mesh.yaml", []byte(mesh))
	r := check.NewWorld(c, set, check.Options{}).Check(check.Baseline{})
	if len(r.Broken) != 1 || !strings.Contains(r.Broken[0].Text, "-namespace prod would do") {
		t.Errorf("broken = %+v, want the two namespaces named", r.Broken)
	}
	for _, namespace := range []string{"prod", "staging"} {
		w := check.NewWorld(c, set, check.Options{Namespace: namespace})
		if r := w.Check(check.Baseline{}); len(r.Broken) != 0 {
			t.Errorf("in %s: broken = %+v, want none", namespace, r.Broken)
		}
		if namespace == "prod" && w.Service.Extra != 3 || namespace == "staging" && w.Service.Probes.Liveness != nil {
			t.Errorf("in %s the service is %+v, want the pods of that namespace", namespace, w.Service)
		}
	}
}
