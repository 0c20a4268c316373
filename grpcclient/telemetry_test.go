package grpcclient

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
)

func TestACallIsASpanThatTheServerContinues(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	o := &Options{
		Name:           "orders",
		TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(recorder)),
		Propagator:     propagation.TraceContext{},
		Methods:        idempotent(grpccodes.Unavailable),
	}
	var parents []string
	u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		parents = append(parents, md.Get("traceparent")...)
		if len(parents) == 1 {
			return nil, status.Error(grpccodes.Unavailable, "no")
		}
		return nil, status.Error(grpccodes.NotFound, "no such order")
	}}
	bubble(t, capacity.Plan{InFlight: 1}, o, u, func(t *testing.T, c *Conn) {
		warm(t, c)
		ask(t.Context(), c)
		spans := recorder.Ended()
		if len(spans) != 1 {
			t.Fatalf("spans = %d, want 1", len(spans))
		}
		span := spans[0]
		if got, want := span.Name(), "offtake.test.Upstream/Call"; got != want {
			t.Errorf("span is named %q, want %q", got, want)
		}
		for _, want := range []attribute.KeyValue{
			attribute.String("rpc.system.name", "grpc"),
			attribute.String("rpc.method", "offtake.test.Upstream/Call"),
			attribute.String("rpc.response.status_code", "NOT_FOUND"),
			attribute.String("error.type", "NOT_FOUND"),
			attribute.String("server.address", "upstream"),
			attribute.Int("offtake.attempts", 2),
		} {
			if !slices.Contains(span.Attributes(), want) {
				t.Errorf("span has %v, want %v among them", span.Attributes(), want)
			}
		}
		if got := span.Status().Code; got != codes.Error {
			t.Errorf("span's status = %v, want an error", got)
		}
		id := span.SpanContext().SpanID().String()
		if len(parents) != 2 || !contains(parents[0], id) || !contains(parents[1], id) {
			t.Errorf("the server saw the parents %q, want the span %s in both attempts", parents, id)
		}
	})
}

func TestAStreamIsASpanThatTheServerContinues(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	o := &Options{TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(recorder)), Propagator: propagation.TraceContext{}}
	var parents []string
	u := &upstream{stream: func(s grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(s.Context())
		parents = append(parents, md.Get("traceparent")...)
		return nil
	}}
	bubble(t, capacity.Plan{InFlight: 1}, o, u, func(t *testing.T, c *Conn) {
		drain(watchStream(t.Context(), t, c))
		spans := recorder.Ended()
		if len(spans) != 1 || spans[0].Name() != "offtake.test.Upstream/Watch" {
			t.Fatalf("spans = %v, want one of the stream", spans)
		}
		if id := spans[0].SpanContext().SpanID().String(); len(parents) != 1 || !contains(parents[0], id) {
			t.Errorf("the server saw the parents %q, want the span %s", parents, id)
		}
	})
}

func TestARefusedCallIsASpanToo(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	o := &Options{TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(recorder))}
	bubble(t, capacity.Plan{InFlight: 1, Wait: 50 * time.Millisecond}, o, &upstream{call: slow(time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		go ask(context.Background(), c)
		synctest.Wait()
		ask(t.Context(), c)
		spans := recorder.Ended()
		if len(spans) != 1 || len(spans[0].Events()) != 2 || spans[0].Events()[0].Name != "queued" || spans[0].Events()[1].Name != "refused" {
			t.Errorf("spans = %v, want one with the events queued and refused", spans)
		}
	})
}

func TestCallsAreMetricsUnderTheSemanticConventions(t *testing.T) {
	reader := metric.NewManualReader()
	o := &Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))}
	bubble(t, capacity.Plan{InFlight: 1, Wait: time.Second}, o, &upstream{call: slow(100 * time.Millisecond)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { ask(context.Background(), c, grpc.StaticMethod()) })
		}
		group.Wait()
		ask(t.Context(), c) // a name that might have come over the wire
		var got metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &got); err != nil {
			t.Fatal(err)
		}
		want := map[string]map[string]uint64{
			"rpc.client.call.duration":      {"offtake.test.Upstream/Call": 2, "_OTHER": 1},
			"rpc.client.call.time_in_queue": {"": 3},
		}
		for _, scope := range got.ScopeMetrics {
			for _, m := range scope.Metrics {
				h, ok := m.Data.(metricdata.Histogram[float64])
				if !ok {
					t.Errorf("%s is a %T, want a histogram", m.Name, m.Data)
					continue
				}
				for _, p := range h.DataPoints {
					method, _ := p.Attributes.Value("rpc.method")
					if p.Count != want[m.Name][method.AsString()] {
						t.Errorf("%s of %q has %d, want %d", m.Name, method.AsString(), p.Count, want[m.Name][method.AsString()])
					}
					delete(want[m.Name], method.AsString())
				}
			}
		}
		for name, rest := range want {
			if len(rest) > 0 {
				t.Errorf("%s lacks %v", name, rest)
			}
		}
	})
}

func TestDiagnosticsMeasureTheWaitForAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		c := piped(t, capacity.Plan{InFlight: 40}, &Options{Diagnostics: true, Registerer: r}, &upstream{call: slow(100 * time.Millisecond)}, grpc.MaxConcurrentStreams(10))
		c.Observe(true) // nothing holds the calls back but grpc-go
		c.Warm(t.Context())
		crowd(t, c, 40)
		if count, sum := series(t, r, "offtake_client_stream_wait_seconds", nil); count != 40 || sum != 6 {
			t.Errorf("waits for a stream = %d with the sum %vs, want 40 with 6s (10 of 0, 0.1, 0.2 and 0.3s)", count, sum)
		}
		if got := c.Stats().OverLimit; got != 30 {
			t.Errorf("calls over the limit = %d, want 30", got)
		}
	})
}

func TestDiagnosticsDoNotCallTheWaitForAConnectionOneForAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := prometheus.NewRegistry()
		f := newFleet(t, 1, nil)
		f.delay["server-0"] = 300 * time.Millisecond
		o := f.options()
		o.Diagnostics, o.Registerer = true, r
		c := dial(t, fleetName, perServer(1, 1), o)
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("call = %v, want nil", err)
		}
		if count, sum := series(t, r, "offtake_client_stream_wait_seconds", nil); count != 1 || sum != 0 {
			t.Errorf("waits for a stream = %d with the sum %vs, want 1 with 0s", count, sum)
		}
	})
}

func TestEveryMetricHasItsName(t *testing.T) {
	r := prometheus.NewRegistry()
	bubble(t, capacity.Plan{InFlight: 2, Streams: 1}, &Options{Registerer: r}, &upstream{}, func(t *testing.T, c *Conn) {
		warm(t, c)
		ask(t.Context(), c)
		for name, want := range map[string]float64{
			"offtake_client_places":                   2,
			"offtake_client_in_flight":                0,
			"offtake_client_queue_length":             0,
			"offtake_client_connections":              2,
			"offtake_client_attempts_total":           1,
			"offtake_client_dials_total":              2,
			"offtake_client_streams_over_limit_total": 0,
		} {
			if _, got := series(t, r, name, nil); got != want {
				t.Errorf("%s = %v, want %v", name, got, want)
			}
		}
		wantCalls(t, r, "OK", 1)
	})
}
