package integration

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/offtake-go/offtake/integration/dashboards"
	"github.com/offtake-go/offtake/internal/loopback"
)

// TestEveryQueryOfTheDashboardsReturnsData has a real Prometheus scrape the example
// service, which its traffic overloads, once with classic and once with native
// histograms.
func TestEveryQueryOfTheDashboardsReturnsData(t *testing.T) {
	processor, ledger := newUpstream(t, 250*time.Millisecond), newUpstream(t, 2*time.Millisecond)
	service, admin := startExample(t, processor.URL, ledger.URL)
	mesh := httptest.NewServer(http.HandlerFunc(envoyMetrics))
	t.Cleanup(mesh.Close)
	underLoad(t, service, 40) // 40/s of 0.25 s need ten places
	for name, flags := range map[string][]string{
		"classic histograms": nil,
		"native histograms":  {"--enable-feature=native-histograms"},
	} {
		t.Run(name, func(t *testing.T) {
			p := startPrometheus(t, flags, admin, mesh.URL)
			for _, d := range dashboards.All() {
				for _, row := range d.Rows {
					for _, panel := range row.Panels {
						for _, q := range panel.Queries {
							p.wantData(t, d.Title+", "+panel.Title, q.Expr)
							p.wantLegend(t, d.Title+", "+panel.Title, q)
						}
					}
				}
				for _, v := range d.Variables {
					p.wantChoices(t, v)
				}
			}
			p.wantData(t, "the histogram of the wait", map[bool]string{
				true:  `histogram_count(rate(offtake_client_queue_wait_seconds[15s]))`,
				false: `rate(offtake_client_queue_wait_seconds_bucket[15s])`,
			}[len(flags) > 0])
			p.wantAlert(t, "OfftakeNeedsMorePlaces")
			p.wantAlert(t, "OfftakeCallsRefused")
			wantReplicas(t, p)
		})
	}
}

// wantReplicas asks Kubernetes' own autoscaler how many replicas it wants, of what its
// adapter would tell it: the adapter's query, on a real Prometheus.
func wantReplicas(t *testing.T, p prometheusServer) {
	t.Helper()
	var adapter struct {
		Rules []struct {
			MetricsQuery string `yaml:"metricsQuery"`
		}
	}
	content, err := os.ReadFile("../observability/kubernetes/adapter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, &adapter); err != nil || len(adapter.Rules) != 1 {
		t.Fatalf("adapter.yaml has %d rules, want 1: %v", len(adapter.Rules), err)
	}
	query := strings.NewReplacer("<<.LabelMatchers>>", `namespace="shop",pod=~"checkout-0"`, "<<.GroupBy>>", "pod").Replace(adapter.Rules[0].MetricsQuery)
	const target = 0.7 // of hpa.yaml
	value := p.wantData(t, "the autoscaler's metric, of a service that is overloaded", fmt.Sprintf("(%s) > %v", query, target))[0]
	cmd := exec.CommandContext(t.Context(), autoscaler(t), "../observability/kubernetes/hpa.yaml")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"checkout-0": %v}`, value))
	said, err := cmd.CombinedOutput()
	if want := fmt.Sprintf("%.0f\n", math.Ceil(math.Floor(1000*value)/1000/target)); err != nil || string(said) != want {
		t.Errorf("the autoscaler wants %q replicas, and %v, for %v of the places of one, want %q", said, err, value, want)
	}
}

// autoscaler builds Kubernetes' arithmetic, which is in a module outside of the
// workspace.
func autoscaler(t *testing.T) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "replicas")
	t.Log("building the autoscaler's arithmetic: about 80 s of CPU the first time")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./replicas")
	cmd.Dir = "kubelet"
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build in kubelet: %v\n%s", err, out)
	}
	return program
}

// prometheusServer is the address of one.
type prometheusServer string

// startPrometheus scrapes a service and a mesh each second, with all the rules.
func startPrometheus(t *testing.T, flags []string, service, mesh string) prometheusServer {
	t.Helper()
	program := need(t, "prometheus", "prometheus")
	dir := t.TempDir()
	rules, err := filepath.Glob(filepath.Join(rulesDir, "*.rules.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range rules {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		fast := strings.ReplaceAll(string(content), "interval: 15s", "interval: 1s")
		writeFile(t, filepath.Join(dir, filepath.Base(file)), fast)
	}
	config := filepath.Join(dir, "prometheus.yml")
	writeFile(t, config, fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["*.rules.yaml"]
scrape_configs:
  - {job_name: checkout, static_configs: [{targets: [%q], labels: {namespace: shop, pod: checkout-0}}]}
  - {job_name: mesh, static_configs: [{targets: [%q]}]}
`, strings.TrimPrefix(service, "http://"), strings.TrimPrefix(mesh, "http://")))
	listen := loopback.Free(t)
	args := append([]string{"--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "data"), "--web.listen-address=" + listen}, flags...)
	start(t, program, args...)
	p := prometheusServer("http://" + listen)
	eventually(t, 30*time.Second, "Prometheus is ready", func() (any, bool) {
		status := get(t.Context(), http.DefaultClient, string(p)+"/-/ready")
		return status, status == http.StatusOK
	})
	return p
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// wantData waits until a query of a panel has a value that is a number.
func (p prometheusServer) wantData(t *testing.T, what, expr string) (values []float64) {
	t.Helper()
	expr = substituted(expr)
	eventually(t, 45*time.Second, what+": "+expr, func() (any, bool) {
		var result struct {
			Error string
			Data  struct {
				Result []struct{ Value [2]any }
			}
		}
		if err := p.ask("/api/v1/query?query="+url.QueryEscape(expr), &result); err != nil {
			return err, false
		}
		values = values[:0]
		for _, r := range result.Data.Result {
			text, _ := r.Value[1].(string)
			if v, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(v) {
				values = append(values, v)
			}
		}
		return result, len(values) > 0
	})
	return values
}

// substituted is a query as Grafana sends it, with everything chosen.
func substituted(expr string) string {
	return strings.NewReplacer("$__rate_interval", "15s", "$job", ".*", "$upstream", ".*").Replace(expr)
}

// wantLegend holds that a line of a panel has each label that its legend shows.
func (p prometheusServer) wantLegend(t *testing.T, what string, q dashboards.Query) {
	t.Helper()
	var result struct {
		Data struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err := p.ask("/api/v1/query?query="+url.QueryEscape(substituted(q.Expr)), &result); err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`{{(\w+)}}`).FindAllStringSubmatch(q.Legend, -1)
	for _, r := range result.Data.Result {
		if !slices.ContainsFunc(shown, func(label []string) bool { return r.Metric[label[1]] == "" }) {
			return
		}
	}
	t.Errorf("%s: no line of %v has all labels of the legend %q", what, result.Data.Result, q.Legend)
}

// wantChoices asks for the values of a variable, as Grafana does.
func (p prometheusServer) wantChoices(t *testing.T, v dashboards.Variable) {
	t.Helper()
	asked := regexp.MustCompile(`^label_values\((.+), (\w+)\)$`).FindStringSubmatch(v.Query)
	if asked == nil {
		t.Fatalf("variable %s: %s asks for no values of a label", v.Name, v.Query)
	}
	var result struct{ Data []string }
	if err := p.ask("/api/v1/label/"+asked[2]+"/values?match[]="+url.QueryEscape(substituted(asked[1])), &result); err != nil || len(result.Data) == 0 {
		t.Errorf("variable %s: %s has no values: %v", v.Name, v.Query, err)
	}
}

// wantAlert waits until an alert is at least pending.
func (p prometheusServer) wantAlert(t *testing.T, name string) {
	t.Helper()
	eventually(t, 45*time.Second, "alert "+name, func() (any, bool) {
		var result struct {
			Data struct {
				Alerts []struct{ Labels map[string]string }
			}
		}
		if err := p.ask("/api/v1/alerts", &result); err != nil {
			return err, false
		}
		return result, slices.ContainsFunc(result.Data.Alerts, func(a struct{ Labels map[string]string }) bool {
			return a.Labels["alertname"] == name
		})
	})
}

func (p prometheusServer) ask(path string, into any) error {
	resp, err := http.Get(string(p) + path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// started is when the mesh's counters were 0.
var started = time.Now()

// envoyMetrics are the statistics that a sidecar would have in an incident, in its
// own names. There is no Envoy here to ask.
func envoyMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	n := time.Since(started).Seconds() * 10
	for _, counter := range []string{
		"lb_healthy_panic", "upstream_rq_total", "upstream_rq_pending_overflow", "upstream_rq_retry_overflow",
		"outlier_detection_ejections_overflow", "outlier_detection_ejections_detected_consecutive_5xx",
		"outlier_detection_ejections_enforced_consecutive_5xx",
	} {
		fmt.Fprintf(w, "# TYPE envoy_cluster_%[1]s counter\nenvoy_cluster_%[1]s{envoy_cluster_name=\"authz\"} %f\n", counter, n)
	}
	fmt.Fprintf(w, "# TYPE envoy_cluster_upstream_rq_retry counter\nenvoy_cluster_upstream_rq_retry{envoy_cluster_name=\"authz\"} %f\n", n/4)
	for gauge, v := range map[string]int{
		"membership_total": 24, "membership_healthy": 15, "outlier_detection_ejections_active": 9,
		"circuit_breakers_default_cx_open": 0, "circuit_breakers_default_rq_pending_open": 1, "circuit_breakers_default_rq_open": 0,
	} {
		fmt.Fprintf(w, "# TYPE envoy_cluster_%[1]s gauge\nenvoy_cluster_%[1]s{cluster_name=\"authz\"} %d\n", gauge, v)
	}
	fmt.Fprintf(w, "# TYPE istio_requests_total counter\nistio_requests_total{reporter=\"source\",destination_service=\"authz\",response_flags=\"UH\"} %f\n", n)
}
