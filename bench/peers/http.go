package peers

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/PuerkitoBio/rehttp"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/timeout"
	heimdall "github.com/gojek/heimdall/v7/httpclient"
	"github.com/hashicorp/go-retryablehttp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/sony/gobreaker/v2"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"resty.dev/v3"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// Do sends one GET and reads its body to the end.
type Do func(ctx context.Context, url string) (status int, err error)

// HTTP is one way to call over HTTP.
type HTTP struct {
	Name   string
	Module string // that brings it; "" for the standard library
	Does   string // what it adds, in a few words

	// New sets it up on a transport of the caller's, for one upstream and a number
	// of calls at once. Stop ends it.
	New func(base *http.Transport, wrap Wrap, url string, inFlight int, deadline time.Duration) (do Do, stop func(), err error)
}

// Wrap puts something between a stack and its transport; nil is nothing. It is how
// a stack is measured without a network.
type Wrap func(http.RoundTripper) http.RoundTripper

func (w Wrap) on(base *http.Transport) http.RoundTripper {
	if w == nil {
		return base
	}
	return w(base)
}

func client(c *http.Client) Do {
	return func(ctx context.Context, url string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		return drained(c.Do(req))
	}
}

func drained(resp *http.Response, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

func none() {}

// attempts and the pauses between them are the same for all who retry.
const (
	attempts     = 3
	firstPause   = 25 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// over makes a stack of a wrapper around a transport.
func over(wrap func(base http.RoundTripper, inFlight int, deadline time.Duration) http.RoundTripper) func(*http.Transport, Wrap, string, int, time.Duration) (Do, func(), error) {
	return func(base *http.Transport, w Wrap, _ string, inFlight int, deadline time.Duration) (Do, func(), error) {
		return client(&http.Client{Transport: wrap(w.on(base), inFlight, deadline)}), none, nil
	}
}

// HTTPStacks are all of them, the bare one first.
func HTTPStacks() []HTTP {
	return []HTTP{
		{"net/http", "", "nothing", over(func(base http.RoundTripper, _ int, _ time.Duration) http.RoundTripper { return base })},
		{"context.WithTimeout", "", "a deadline per call", newWithTimeout},
		{"http.Client.Timeout", "", "a deadline per call", newClientTimeout},
		{"gobreaker", "github.com/sony/gobreaker/v2", "a breaker", over(newGobreaker)},
		{"rehttp", "github.com/PuerkitoBio/rehttp", "retries", over(newRehttp)},
		{"go-retryablehttp", "github.com/hashicorp/go-retryablehttp", "retries", newRetryable},
		{"heimdall", "github.com/gojek/heimdall/v7", "retries and a timeout", newHeimdall},
		{"resty", "resty.dev/v3", "retries and a timeout", newResty},
		{"promhttp", "github.com/prometheus/client_golang", "three metrics", over(newPromhttp)},
		{"otelhttp, no SDK", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "spans and metrics that nobody takes", over(newOtelSilent)},
		{"otelhttp, SDK", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "spans and metrics", over(newOtel)},
		{"failsafe-go, retry", "github.com/failsafe-go/failsafe-go", "retries", over(newFailsafeRetry)},
		{"failsafe-go, four policies", "github.com/failsafe-go/failsafe-go", "retries, breaker, bulkhead, timeout", over(newFailsafe)},
		{"offtake", "github.com/offtake-go/offtake", "queue, deadlines, retry budget, all metrics", newOfftake},
	}
}

func newWithTimeout(base *http.Transport, w Wrap, _ string, _ int, deadline time.Duration) (Do, func(), error) {
	do := client(&http.Client{Transport: w.on(base)})
	return func(ctx context.Context, url string) (int, error) {
		ctx, cancel := context.WithTimeout(ctx, deadline)
		defer cancel()
		return do(ctx, url)
	}, none, nil
}

func newClientTimeout(base *http.Transport, w Wrap, _ string, _ int, deadline time.Duration) (Do, func(), error) {
	return client(&http.Client{Transport: w.on(base), Timeout: deadline}), none, nil
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func newGobreaker(base http.RoundTripper, _ int, _ time.Duration) http.RoundTripper {
	breaker := gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{})
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		return breaker.Execute(func() (*http.Response, error) { return base.RoundTrip(req) })
	})
}

func newRehttp(base http.RoundTripper, _ int, _ time.Duration) http.RoundTripper {
	return rehttp.NewTransport(base,
		rehttp.RetryAll(rehttp.RetryMaxRetries(attempts-1), rehttp.RetryAny(rehttp.RetryTemporaryErr(), rehttp.RetryStatuses(502, 503, 504))),
		rehttp.ExpJitterDelay(firstPause, longestPause))
}

func newRetryable(base *http.Transport, w Wrap, _ string, _ int, deadline time.Duration) (Do, func(), error) {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: w.on(base), Timeout: deadline}
	c.Logger = nil
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = attempts-1, firstPause, longestPause
	return func(ctx context.Context, url string) (int, error) {
		req, err := retryablehttp.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		return drained(c.Do(req))
	}, none, nil
}

func newHeimdall(base *http.Transport, w Wrap, _ string, _ int, deadline time.Duration) (Do, func(), error) {
	c := heimdall.NewClient(
		heimdall.WithHTTPClient(&http.Client{Transport: w.on(base), Timeout: deadline}),
		heimdall.WithRetryCount(attempts-1),
	)
	return func(ctx context.Context, url string) (int, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		return drained(c.Do(req))
	}, none, nil
}

func newResty(base *http.Transport, w Wrap, _ string, _ int, deadline time.Duration) (Do, func(), error) {
	c := resty.New().SetTransport(w.on(base)).SetTimeout(deadline).
		SetRetryCount(attempts - 1).SetRetryWaitTime(firstPause).SetRetryMaxWaitTime(longestPause)
	return func(ctx context.Context, url string) (int, error) {
		resp, err := c.R().SetContext(ctx).Get(url)
		if err != nil {
			return 0, err
		}
		return resp.StatusCode(), nil
	}, func() { c.Close() }, nil
}

func newPromhttp(base http.RoundTripper, _ int, _ time.Duration) http.RoundTripper {
	inFlight := prometheus.NewGauge(prometheus.GaugeOpts{Name: "in_flight"})
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"code", "method"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "duration_seconds"}, []string{"code", "method"})
	return promhttp.InstrumentRoundTripperInFlight(inFlight,
		promhttp.InstrumentRoundTripperCounter(total,
			promhttp.InstrumentRoundTripperDuration(duration, base)))
}

func newOtelSilent(base http.RoundTripper, _ int, _ time.Duration) http.RoundTripper {
	return otelhttp.NewTransport(base)
}

func newOtel(base http.RoundTripper, _ int, _ time.Duration) http.RoundTripper {
	return otelhttp.NewTransport(base,
		otelhttp.WithTracerProvider(sdktrace.NewTracerProvider()),
		otelhttp.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))))
}

func newFailsafeRetry(base http.RoundTripper, _ int, _ time.Duration) http.RoundTripper {
	retry := failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(attempts-1).WithBackoff(firstPause, longestPause).Build()
	return failsafehttp.NewRoundTripper(base, retry)
}

func newFailsafe(base http.RoundTripper, inFlight int, deadline time.Duration) http.RoundTripper {
	retry := failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(attempts-1).WithBackoff(firstPause, longestPause).Build()
	breaker := circuitbreaker.NewWithDefaults[*http.Response]()
	bulk := bulkhead.NewBuilder[*http.Response](uint(inFlight)).WithMaxWaitTime(wait(deadline)).Build()
	return failsafehttp.NewRoundTripper(base, retry, breaker, bulk, timeout.New[*http.Response](deadline))
}

// wait is the longest wait for a place, the same for all who have one.
func wait(deadline time.Duration) time.Duration { return min(100*time.Millisecond, deadline/4) }

func newOfftake(base *http.Transport, w Wrap, url string, inFlight int, deadline time.Duration) (Do, func(), error) {
	plan := capacity.Plan{InFlight: inFlight, Wait: wait(deadline), Deadline: deadline, Attempts: attempts}
	c, err := httpclient.New(url, plan, &httpclient.Options{
		Name: "upstream", Base: &http.Transport{TLSClientConfig: base.TLSClientConfig}, Wrap: w, Registerer: prometheus.NewRegistry(),
	})
	if err != nil {
		return nil, nil, err
	}
	return client(c.Client), func() { c.Close() }, nil
}
