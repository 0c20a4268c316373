package observability

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/telemetry"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

const metricsPage = "../docs/metrics.md"

// TestTheMetricsPageIsWhatTheCodeHas renders the page from what is registered.
func TestTheMetricsPageIsWhatTheCodeHas(t *testing.T) {
	registry, reader := prometheus.NewRegistry(), sdk.NewManualReader()
	record(t, registry, sdk.NewMeterProvider(sdk.WithReader(reader)))
	var b strings.Builder
	single, histograms, buckets := seriesOfAClient(t)
	fmt.Fprintf(&b, pageHead, single, histograms, buckets+3) // and +Inf, the sum and the count
	prometheusTable(t, &b, registry)
	b.WriteString(pageMiddle)
	labelTable(&b)
	b.WriteString(pageOpenTelemetry)
	openTelemetryTable(t, &b, reader)
	if *update {
		if err := os.WriteFile(metricsPage, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("docs/metrics.md is not what the code has; run\n\tgo test ./observability -update\nwant:\n%s", b.String())
	}
}

// seriesOfAClient counts what a client has before any call.
func seriesOfAClient(t *testing.T) (single, histograms, buckets int) {
	t.Helper()
	registry := prometheus.NewRegistry()
	client, err := httpclient.New("http://127.0.0.1:1", capacity.Plan{InFlight: 1}, &httpclient.Options{Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if h := m.GetHistogram(); h != nil {
				histograms++
				buckets = len(h.GetBucket())
			} else {
				single++
			}
		}
	}
	return single, histograms, buckets
}

// record makes one of everything that has metrics, and has each of them happen.
func record(t *testing.T, registry prometheus.Registerer, provider *sdk.MeterProvider) {
	t.Helper()
	counts := func(reason string) []telemetry.Refusals {
		return []telemetry.Refusals{{Reason: reason, Refused: 1, Observed: 1}}
	}
	state := func() telemetry.State {
		return telemetry.State{Refusals: counts("wait"), Limited: counts("retry_budget"), Idle: 1}
	}
	config := telemetry.ClientConfig{Upstream: "x", Registerer: registry, MeterProvider: provider, State: state}
	client, err := telemetry.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	rpc, err := telemetry.NewRPC(config)
	if err != nil {
		t.Fatal(err)
	}
	door, err := telemetry.NewServer("x", registry, state)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := telemetry.NewReady(registry, func() (bool, []telemetry.ReadyCheck) {
		return true, []telemetry.ReadyCheck{{Name: "x"}}
	}); err != nil {
		t.Fatal(err)
	}
	ctx, get := context.Background(), telemetry.OfMethod("GET")
	client.QueueWait(ctx, 0)
	client.Attempt(telemetry.Status2xx)
	client.Dial(telemetry.Status2xx, time.Second)
	client.ConnectionClosed(time.Second)
	client.Call(ctx, get, 200, telemetry.Status2xx, time.Second)
	rpc.QueueWait(ctx, 0)
	rpc.Call(ctx, "pkg.Service/Method", telemetry.OfCode(0), time.Second)
	door.Request(get, telemetry.Status2xx, time.Second)
}

func prometheusTable(t *testing.T, b *strings.Builder, registry prometheus.Gatherer) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	b.WriteString("| name | kind | labels | |\n|---|---|---|---|\n")
	for _, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", f.GetName())
		}
		var labels []string
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels = append(labels, "`"+l.GetName()+"`")
			}
		}
		slices.Sort(labels)
		kind := strings.ToLower(f.GetType().String())
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.GetName(), kind, strings.Join(slices.Compact(labels), ", "), f.GetHelp())
	}
}

// labelTable lists the closed sets.
func labelTable(b *strings.Builder) {
	fmt.Fprintf(b, "| label | values |\n|---|---|\n")
	row := func(label string, values []string) {
		fmt.Fprintf(b, "| %s | `%s` |\n", label, strings.Join(values, "` `"))
	}
	row("`outcome`", names(telemetry.Outcomes, telemetry.Outcome.String))
	var failed []string
	for o := range telemetry.Outcomes {
		if o.Failed() {
			failed = append(failed, o.String())
		}
	}
	row("`outcome` of a failure", failed)
	row("`reason` of a refusal", names(gate.Reasons, gate.Reason.String))
	row("`reason` of a retry", names(telemetry.Retries, telemetry.Retry.String))
	row("`method`", names(telemetry.BidiStream+1, telemetry.Method.String))
}

func names[T ~uint8](n T, name func(T) string) (all []string) {
	for i := range n {
		all = append(all, name(i))
	}
	return all
}

func openTelemetryTable(t *testing.T, b *strings.Builder, reader sdk.Reader) {
	t.Helper()
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		t.Fatal(err)
	}
	b.WriteString("| name | unit | attributes | |\n|---|---|---|---|\n")
	for _, scope := range collected.ScopeMetrics {
		slices.SortFunc(scope.Metrics, func(a, b metricdata.Metrics) int { return cmp.Compare(a.Name, b.Name) })
		for _, m := range scope.Metrics {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", m.Name, m.Unit, attributesOf(t, m), m.Description)
		}
	}
}

func attributesOf(t *testing.T, m metricdata.Metrics) string {
	t.Helper()
	keys := make(map[string]bool)
	switch data := m.Data.(type) {
	case metricdata.Histogram[float64]:
		for _, p := range data.DataPoints {
			for _, a := range p.Attributes.ToSlice() {
				keys["`"+string(a.Key)+"`"] = true
			}
		}
	case metricdata.Sum[int64]:
		for _, p := range data.DataPoints {
			for _, a := range p.Attributes.ToSlice() {
				keys["`"+string(a.Key)+"`"] = true
			}
		}
	default:
		t.Fatalf("%s is a %T, which this test does not know", m.Name, m.Data)
	}
	return strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
}

// TestTheRulesKnowWhatAFailureIs compares the alerts with the code.
func TestTheRulesKnowWhatAFailureIs(t *testing.T) {
	rules, err := os.ReadFile("prometheus/offtake.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for o := range telemetry.Outcomes {
		if o.Failed() {
			failed = append(failed, o.String())
		}
	}
	slices.Sort(failed)
	selections := 0
	for part := range strings.SplitSeq(string(rules), `outcome=~"`) {
		list, _, ok := strings.Cut(part, `"`)
		if !ok || strings.ContainsAny(list, " \n") {
			continue // what stands before the first
		}
		selections++
		if got := slices.Sorted(strings.SplitSeq(list, "|")); !slices.Equal(got, failed) {
			t.Errorf("offtake.rules.yaml selects the outcomes %v as failures, want %v", got, failed)
		}
	}
	if selections < 2 {
		t.Errorf("offtake.rules.yaml selects failures %d times, want 2 at least", selections)
	}
}

// TestTheFilesNameOnlyMetricsThereAre looks up every name of ours in the rules,
// the dashboards and the autoscaler.
func TestTheFilesNameOnlyMetricsThereAre(t *testing.T) {
	page, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"prometheus/offtake.rules.yaml", "grafana/owner.json", "grafana/mesh.json", "kubernetes/hpa.yaml", "kubernetes/adapter.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for name := range metricsIn(string(content)) {
			base := name
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				base = strings.TrimSuffix(base, suffix)
			}
			if !strings.Contains(string(page), "| `"+base+"` |") {
				t.Errorf("%s uses %s, which is no metric", file, name)
			}
		}
	}
}

// metricsIn yields the words that begin with this module's prefix.
func metricsIn(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool {
			return r != '_' && r != ':' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
		}) {
			if strings.HasPrefix(word, "offtake_") && !yield(word) {
				return
			}
		}
	}
}
