package httpclient

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/offtake-go/offtake/capacity"
)

// traced are options that record spans.
func traced() (*Options, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	return &Options{
		TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(recorder)),
		Propagator:     propagation.TraceContext{},
	}, recorder
}

// one is the only span that has ended.
func one(t *testing.T, r *tracetest.SpanRecorder) trace.ReadOnlySpan {
	t.Helper()
	ended := r.Ended()
	if len(ended) != 1 || len(r.Started()) != 1 {
		t.Fatalf("spans = %d started, %d ended, want one", len(r.Started()), len(ended))
	}
	return ended[0]
}

func events(s trace.ReadOnlySpan) string {
	var names []string
	for _, e := range s.Events() {
		names = append(names, e.Name)
	}
	return strings.Join(names, " ")
}

func attributeOf(s trace.ReadOnlySpan, key string) string {
	for _, a := range s.Attributes() {
		if a.Key == attribute.Key(key) {
			return a.Value.String()
		}
	}
	return ""
}

func TestASpanLastsUntilTheBodyEnds(t *testing.T) {
	for name, end := range map[string]func(*http.Response){
		"read": func(r *http.Response) { io.ReadAll(r.Body) },
		"closed": func(r *http.Response) {
			<-time.After(300 * time.Millisecond)
			r.Body.Close()
		},
		"leaked": func(r *http.Response) { <-time.After(time.Hour) },
	} {
		o, recorder := traced()
		bubble(t, capacity.Plan{InFlight: 1}, o, drips(3, 100*time.Millisecond), func(t *testing.T, c *Client) {
			resp, err := get(t, c, "/pay?card=secret")
			if err != nil {
				t.Fatal(err)
			}
			end(resp)
		})
		span := one(t, recorder)
		if got := span.EndTime().Sub(span.StartTime()); got < 300*time.Millisecond {
			t.Errorf("%s: span of %v, want 300ms at least", name, got)
		}
		if got := attributeOf(span, "url.full"); got != "http://upstream.example/pay" {
			t.Errorf("%s: url.full = %q, want it without the query", name, got)
		}
		if span.Name() != "GET" || attributeOf(span, "http.response.status_code") != "200" || attributeOf(span, "server.address") != "upstream.example" {
			t.Errorf("%s: span %q with %v, want the attributes of the conventions", name, span.Name(), span.Attributes())
		}
	}
}

// drips sends n bytes, one after each pause.
func drips(n int, pause time.Duration) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for range n {
			<-time.After(pause)
			w.Write([]byte("."))
			w.(http.Flusher).Flush()
		}
		<-time.After(pause)
	}
}

func TestASpanShowsWaitsAttemptsAndRefusals(t *testing.T) {
	var requests []*http.Request
	o, recorder := traced()
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 2}, o, replies(&requests, nil, 503, 200), func(t *testing.T, c *Client) {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		span := one(t, recorder)
		if got, want := events(span), "offtake.attempt offtake.retry offtake.attempt"; got != want {
			t.Errorf("events = %q, want %q", got, want)
		}
		if got := attributeOf(span, "http.request.resend_count"); got != "1" {
			t.Errorf("resend count = %q, want 1", got)
		}
		id := span.SpanContext().TraceID().String()
		for i, r := range requests {
			if got := r.Header.Get("Traceparent"); !strings.Contains(got, id) {
				t.Errorf("traceparent of attempt %d = %q, want %s in it", i+1, got, id)
			}
		}
	})

	o, recorder = traced()
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, o)
	c.core.gate.TryEnter()
	if _, err := get(t, c, "/"); err == nil {
		t.Fatal("Do() = nil error, want a refusal")
	}
	span := one(t, recorder)
	if span.Status().Code != codes.Error || attributeOf(span, "error.type") != "busy" || events(span) != "offtake.refused" {
		t.Errorf("span of a refusal = %v %v %q, want an error of type busy", span.Status(), span.Attributes(), events(span))
	}
}

func TestTheGlobalProviderOfTheMomentIsUsed(t *testing.T) {
	before := otel.GetTracerProvider()
	defer otel.SetTracerProvider(before)
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, slow(0))
	together(t, c, 1)
	recorder := tracetest.NewSpanRecorder()
	otel.SetTracerProvider(trace.NewTracerProvider(trace.WithSpanProcessor(recorder)))
	together(t, c, 1)
	one(t, recorder)
}

func TestMetricsFollowTheConventions(t *testing.T) {
	reader := metric.NewManualReader()
	o := &Options{MeterProvider: metric.NewMeterProvider(metric.WithReader(reader))}
	bubble(t, capacity.Plan{InFlight: 2}, o, slow(100*time.Millisecond), func(t *testing.T, c *Client) {
		together(t, c, 2)
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		var got metricdata.ResourceMetrics
		if err := reader.Collect(context.Background(), &got); err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		seen := make(map[string]metricdata.Aggregation)
		for _, m := range got.ScopeMetrics[0].Metrics {
			seen[m.Name] = m.Data
		}
		duration := seen["http.client.request.duration"].(metricdata.Histogram[float64]).DataPoints[0]
		if method, _ := duration.Attributes.Value("http.request.method"); duration.Count != 2 || duration.Sum < .2 || method.AsString() != "GET" {
			t.Errorf("request.duration = %d of %.3fs for %v, want 2 GETs of 0.2s", duration.Count, duration.Sum, duration.Attributes)
		}
		if n := seen["http.client.request.time_in_queue"].(metricdata.Histogram[float64]).DataPoints[0].Count; n != 3 {
			t.Errorf("time_in_queue = %d waits, want 3", n)
		}
		if n := seen["http.client.active_requests"].(metricdata.Sum[int64]).DataPoints[0].Value; n != 1 {
			t.Errorf("active_requests = %d, want 1", n)
		}
		open := int64(0)
		for _, p := range seen["http.client.open_connections"].(metricdata.Sum[int64]).DataPoints {
			open += p.Value
		}
		if open != 2 {
			t.Errorf("open_connections = %d, want 2", open)
		}
	})
	var after metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &after); err != nil {
		t.Fatal(err)
	}
	for _, m := range after.ScopeMetrics[0].Metrics {
		if m.Name == "http.client.connection.duration" {
			if n := m.Data.(metricdata.Histogram[float64]).DataPoints[0].Count; n != 2 {
				t.Errorf("connection.duration after Close = %d, want 2", n)
			}
			return
		}
	}
	t.Error("connection.duration is missing")
}
