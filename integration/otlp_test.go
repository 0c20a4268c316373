package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	metricservice "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	traceservice "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// receiver takes what an exporter sends, as a collector would.
type receiver struct {
	traceservice.UnimplementedTraceServiceServer

	mu      sync.Mutex
	spans   []*trace.Span
	metrics map[string]*metrics.Metric
}

// Export implements the trace service.
func (r *receiver) Export(_ context.Context, req *traceservice.ExportTraceServiceRequest) (*traceservice.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return new(traceservice.ExportTraceServiceResponse), nil
}

// metricReceiver is the same receiver for metrics: both services have an Export.
type metricReceiver struct {
	metricservice.UnimplementedMetricsServiceServer
	*receiver
}

// Export implements the metrics service.
func (r metricReceiver) Export(_ context.Context, req *metricservice.ExportMetricsServiceRequest) (*metricservice.ExportMetricsServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range req.ResourceMetrics {
		for _, scope := range resource.ScopeMetrics {
			for _, m := range scope.Metrics {
				r.metrics[m.Name] = m
			}
		}
	}
	return new(metricservice.ExportMetricsServiceResponse), nil
}

func startReceiver(t *testing.T) (r *receiver, address string) {
	t.Helper()
	r = &receiver{metrics: make(map[string]*metrics.Metric)}
	server := grpc.NewServer()
	traceservice.RegisterTraceServiceServer(server, r)
	metricservice.RegisterMetricsServiceServer(server, metricReceiver{receiver: r})
	return r, serveGRPC(t, server)
}

// What callOverOTLP's upstream sends, slowly.
const (
	otlpChunks = 3
	otlpPause  = 100 * time.Millisecond
)

// callOverOTLP makes two calls, the body of one read to its end and of the other not
// at all, and has the SDK send what it saw of them to a receiver.
func callOverOTLP(t *testing.T, receiver string) {
	t.Helper()
	ctx := t.Context()
	spanExporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpoint(receiver), otlptracegrpc.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	metricExporter, err := otlpmetricgrpc.New(ctx, otlpmetricgrpc.WithEndpoint(receiver), otlpmetricgrpc.WithInsecure())
	if err != nil {
		t.Fatal(err)
	}
	spans := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spanExporter))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metricExporter)))
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range otlpChunks {
			select {
			case <-r.Context().Done():
				return
			case <-time.After(otlpPause):
			}
			fmt.Fprintf(w, "chunk %d\n", i)
			http.NewResponseController(w).Flush()
		}
	}))
	t.Cleanup(upstream.Close)
	client, err := httpclient.New(upstream.URL, capacity.Plan{InFlight: 2}, &httpclient.Options{
		Name: "slow-body", Registerer: prometheus.NewRegistry(), TracerProvider: spans, MeterProvider: meters,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	for _, toTheEnd := range []bool{true, false} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/?secret=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if toTheEnd {
			io.Copy(io.Discard, resp.Body)
		}
		resp.Body.Close()
	}
	if err := meters.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if err := spans.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
}

// TestSpansAndMetricsArriveOverOTLP reads at a receiver, field by field, what calls
// are looked at by.
func TestSpansAndMetricsArriveOverOTLP(t *testing.T) {
	received, address := startReceiver(t)
	callOverOTLP(t, address)
	wantSpans(t, received, otlpChunks*otlpPause)
	wantMetrics(t, received)
}

func wantSpans(t *testing.T, r *receiver, body time.Duration) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spans) != 2 {
		t.Fatalf("%d spans arrived, want 2: one read to its end, one closed before", len(r.spans))
	}
	for _, s := range r.spans {
		if s.Kind != trace.Span_SPAN_KIND_CLIENT {
			t.Errorf("span %q is a %v, want a client's", s.Name, s.Kind)
		}
		for _, a := range s.Attributes {
			if strings.Contains(a.Value.GetStringValue(), "secret") {
				t.Errorf("span %q has %s = %v, want no query in it", s.Name, a.Key, a.Value)
			}
		}
		keys := attributeKeys(s.Attributes)
		for _, want := range []string{"http.request.method", "http.response.status_code", "server.address", "server.port", "url.full"} {
			if !slices.Contains(keys, want) {
				t.Errorf("span %q has the attributes %v, want %s among them", s.Name, keys, want)
			}
		}
	}
	if got := spanTime(r.spans[0]); got < body {
		t.Errorf("the span of a body that takes %v takes %v, want no less: it ends with the body", body, got)
	}
	if got, whole := spanTime(r.spans[1]), spanTime(r.spans[0]); got >= whole {
		t.Errorf("the span of a body that was closed early takes %v, want less than %v: it ends at Close", got, whole)
	}
}

func spanTime(s *trace.Span) time.Duration {
	return time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano)
}

func attributeKeys(attributes []*common.KeyValue) (keys []string) {
	for _, a := range attributes {
		keys = append(keys, a.Key)
	}
	return keys
}

// wantMetrics holds the names, units and attributes of the semantic conventions.
func wantMetrics(t *testing.T, r *receiver) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, unit := range map[string]string{
		"http.client.request.duration":      "s",
		"http.client.active_requests":       "{request}",
		"http.client.open_connections":      "{connection}",
		"http.client.request.time_in_queue": "s",
	} {
		if m := r.metrics[name]; m == nil || m.Unit != unit {
			t.Errorf("metric %s = %v, want one in %s", name, m, unit)
		}
	}
	points := r.metrics["http.client.request.duration"].GetHistogram().GetDataPoints()
	if len(points) != 1 || points[0].Count != 2 {
		t.Fatalf("http.client.request.duration has the points %v, want one of two calls", points)
	}
	want := []string{"http.request.method", "http.response.status_code", "server.address", "server.port"}
	if got := attributeKeys(points[0].Attributes); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
		t.Errorf("http.client.request.duration has the attributes %v, want %v", got, want)
	}
	if first := points[0].ExplicitBounds[0]; first > 0.01 {
		t.Errorf("its first bucket ends at %v, want seconds, not milliseconds", first)
	}
}
