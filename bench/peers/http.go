package peers

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/PuerkitoBio/rehttp"
	"github.com/failsafe-go/failsafe-go/budget"
	"github.com/failsafe-go/failsafe-go/bulkhead"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
	"github.com/failsafe-go/failsafe-go/failsafehttp"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	"github.com/failsafe-go/failsafe-go/timeout"
	pauses "github.com/gojek/heimdall/v7"
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

// Client is a stack that has been set up.
type Client struct {
	Do     Do
	Forget Do                          // sends one GET, and leaves its body as it is
	Warm   func(context.Context) error // fills the pool; nil if the stack has nothing for that
	Stop   func()
}

// HTTP is one way to call over HTTP.
type HTTP struct {
	Name   string
	Module string // that brings it; "" for the standard library
	Does   string // what it adds, in a few words

	// Bounded says that its transport has MaxConnsPerHost wherever there is a choice.
	Bounded bool

	// New sets it up on a transport of the caller's, for one upstream.
	New func(base *http.Transport, wrap Wrap, url string, sizes Sizes) (*Client, error)
}

// Sizes are the same for all.
type Sizes struct {
	InFlight int           // calls at once
	Deadline time.Duration // of a call, for those who bound calls
	Attempt  time.Duration // of each attempt, for those who bound attempts; the Deadline if 0
	HTTP2    bool          // is what the upstream speaks, for those who have to be told
	Queue    int           // calls that may wait, for long; if 0, as many as each has by default, for a moment
}

func (s Sizes) attempt() time.Duration { return cmp.Or(s.Attempt, s.Deadline) }

// wait is the longest wait for a place, the same for all who have one.
func (s Sizes) wait() time.Duration {
	if s.Queue > 0 {
		return s.Deadline / 4
	}
	return min(100*time.Millisecond, s.Deadline/4)
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

// client makes a Client of what sends requests.
func client(send func(*http.Request) (*http.Response, error)) *Client {
	get := func(ctx context.Context, url string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		return send(req)
	}
	return &Client{
		Do: func(ctx context.Context, url string) (int, error) {
			resp, err := get(ctx, url)
			if err != nil {
				return 0, err
			}
			defer resp.Body.Close()
			_, err = io.Copy(io.Discard, resp.Body)
			return resp.StatusCode, err
		},
		Forget: func(ctx context.Context, url string) (int, error) {
			resp, err := get(ctx, url)
			if err != nil {
				return 0, err
			}
			return resp.StatusCode, nil
		},
		Stop: func() {},
	}
}

// attempts and the pauses between them are the same for all who retry.
const (
	attempts     = 3
	firstPause   = 25 * time.Millisecond
	longestPause = 250 * time.Millisecond
)

// over makes a stack of a wrapper around a transport.
func over(wrap func(base http.RoundTripper, sizes Sizes) http.RoundTripper) func(*http.Transport, Wrap, string, Sizes) (*Client, error) {
	return func(base *http.Transport, w Wrap, _ string, sizes Sizes) (*Client, error) {
		return client((&http.Client{Transport: wrap(w.on(base), sizes)}).Do), nil
	}
}

// HTTPStacks are all of them, the bare one first.
func HTTPStacks() []HTTP {
	return []HTTP{
		{"net/http", "", "nothing", false, over(func(base http.RoundTripper, _ Sizes) http.RoundTripper { return base })},
		{"context.WithTimeout", "", "a deadline per call", false, newWithTimeout},
		{"http.Client.Timeout", "", "a deadline per call", false, newClientTimeout},
		{"gobreaker", "github.com/sony/gobreaker/v2", "a breaker", false, over(newGobreaker)},
		{"rehttp", "github.com/PuerkitoBio/rehttp", "retries and a timeout", false, over(newRehttp)},
		{"go-retryablehttp", "github.com/hashicorp/go-retryablehttp", "retries", false, newRetryable},
		{"heimdall", "github.com/gojek/heimdall/v7", "retries and a timeout", false, newHeimdall},
		{"resty", "resty.dev/v3", "retries and a timeout", false, newResty},
		{"promhttp", "github.com/prometheus/client_golang", "three metrics", false, over(newPromhttp)},
		{"otelhttp, no SDK", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "spans and metrics that nobody takes", false, over(newOtelSilent)},
		{"otelhttp, SDK", "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp", "spans and metrics", false, over(newOtel)},
		{"failsafe-go, retry", "github.com/failsafe-go/failsafe-go", "retries", false, over(newFailsafeRetry)},
		{"failsafe-go, retry with a budget", "github.com/failsafe-go/failsafe-go", "retries, and a bound on them", false, over(newFailsafeBudget)},
		{"failsafe-go, four policies", "github.com/failsafe-go/failsafe-go", "retries, breaker, bulkhead, timeout", false, over(newFailsafe)},
		{"offtake", "github.com/offtake-go/offtake", "queue, deadlines, retry budget, all metrics", false, newOfftake},
	}
}

// InTrouble are those that bound or repeat something, and net/http for a user who
// knows of MaxConnsPerHost.
func InTrouble() []HTTP {
	all := HTTPStacks()
	bounded := all[0]
	bounded.Name, bounded.Bounded = "net/http, MaxConnsPerHost", true
	return append([]HTTP{all[0], bounded}, Named(all, "rehttp", "go-retryablehttp", "resty", "failsafe-go, four policies", "offtake")...)
}

// Named picks stacks by their names.
func Named(stacks []HTTP, names ...string) []HTTP {
	return slices.DeleteFunc(slices.Clone(stacks), func(s HTTP) bool { return !slices.Contains(names, s.Name) })
}

func newWithTimeout(base *http.Transport, w Wrap, _ string, sizes Sizes) (*Client, error) {
	c := client((&http.Client{Transport: w.on(base)}).Do)
	bounded := func(do Do) Do {
		return func(ctx context.Context, url string) (int, error) {
			ctx, cancel := context.WithTimeout(ctx, sizes.Deadline)
			defer cancel()
			return do(ctx, url)
		}
	}
	c.Do, c.Forget = bounded(c.Do), bounded(c.Forget)
	return c, nil
}

func newClientTimeout(base *http.Transport, w Wrap, _ string, sizes Sizes) (*Client, error) {
	return client((&http.Client{Transport: w.on(base), Timeout: sizes.Deadline}).Do), nil
}

// roundTripper is a function as an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func newGobreaker(base http.RoundTripper, _ Sizes) http.RoundTripper {
	breaker := gobreaker.NewCircuitBreaker[*http.Response](gobreaker.Settings{})
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		return breaker.Execute(func() (*http.Response, error) { return base.RoundTrip(req) })
	})
}

func newRehttp(base http.RoundTripper, sizes Sizes) http.RoundTripper {
	t := rehttp.NewTransport(base,
		rehttp.RetryAll(rehttp.RetryMaxRetries(attempts-1),
			rehttp.RetryAny(rehttp.RetryTemporaryErr(), rehttp.RetryTimeoutErr(), rehttp.RetryStatuses(502, 503, 504))),
		rehttp.ExpJitterDelay(firstPause, longestPause))
	t.PerAttemptTimeout = sizes.attempt()
	return t
}

func newRetryable(base *http.Transport, w Wrap, _ string, sizes Sizes) (*Client, error) {
	c := retryablehttp.NewClient()
	c.HTTPClient = &http.Client{Transport: w.on(base), Timeout: sizes.attempt()}
	c.Logger = nil
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = attempts-1, firstPause, longestPause
	return client(func(req *http.Request) (*http.Response, error) {
		wrapped, err := retryablehttp.FromRequest(req)
		if err != nil {
			return nil, err
		}
		return c.Do(wrapped)
	}), nil
}

func newHeimdall(base *http.Transport, w Wrap, _ string, sizes Sizes) (*Client, error) {
	return client(heimdall.NewClient(
		heimdall.WithHTTPClient(&http.Client{Transport: w.on(base), Timeout: sizes.attempt()}),
		heimdall.WithRetryCount(attempts-1),
		heimdall.WithRetrier(pauses.NewRetrier(pauses.NewExponentialBackoff(firstPause, longestPause, 2, firstPause))),
	).Do), nil
}

// newResty has a timeout for each attempt, which resty leaves out if the context has a
// deadline already: a caller's patience takes it away.
func newResty(base *http.Transport, w Wrap, _ string, sizes Sizes) (*Client, error) {
	c := resty.New().SetTransport(w.on(base)).SetTimeout(sizes.attempt()).
		SetRetryCount(attempts - 1).SetRetryWaitTime(firstPause).SetRetryMaxWaitTime(longestPause).
		AddRetryConditions(func(r *resty.Response, err error) bool { return err != nil || r.StatusCode() >= 500 })
	get := func(ctx context.Context, url string, read func(*resty.Response)) (int, error) {
		resp, err := c.R().SetContext(ctx).Get(url)
		if err != nil {
			return 0, err
		}
		read(resp)
		return resp.StatusCode(), nil
	}
	return &Client{
		Do: func(ctx context.Context, url string) (int, error) {
			return get(ctx, url, func(r *resty.Response) { r.Bytes() })
		},
		Forget: func(ctx context.Context, url string) (int, error) {
			return get(ctx, url, func(*resty.Response) {})
		},
		Stop: func() { c.Close() },
	}, nil
}

func newPromhttp(base http.RoundTripper, _ Sizes) http.RoundTripper {
	inFlight := prometheus.NewGauge(prometheus.GaugeOpts{Name: "in_flight"})
	total := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total"}, []string{"code", "method"})
	duration := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "duration_seconds"}, []string{"code", "method"})
	return promhttp.InstrumentRoundTripperInFlight(inFlight,
		promhttp.InstrumentRoundTripperCounter(total,
			promhttp.InstrumentRoundTripperDuration(duration, base)))
}

func newOtelSilent(base http.RoundTripper, _ Sizes) http.RoundTripper {
	return otelhttp.NewTransport(base)
}

func newOtel(base http.RoundTripper, _ Sizes) http.RoundTripper {
	return otelhttp.NewTransport(base,
		otelhttp.WithTracerProvider(sdktrace.NewTracerProvider()),
		otelhttp.WithMeterProvider(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))))
}

// failsafeRetry is the policy that its documentation has for HTTP.
func failsafeRetry() retrypolicy.Builder[*http.Response] {
	return failsafehttp.NewRetryPolicyBuilder().WithMaxRetries(attempts-1).WithBackoff(firstPause, longestPause)
}

func newFailsafeRetry(base http.RoundTripper, _ Sizes) http.RoundTripper {
	return failsafehttp.NewRoundTripper(base, failsafeRetry().Build())
}

// newFailsafeBudget has its budget as it comes: a fifth of the calls of the moment may
// be retries, and three always.
func newFailsafeBudget(base http.RoundTripper, _ Sizes) http.RoundTripper {
	return failsafehttp.NewRoundTripper(base, failsafeRetry().WithBudget(budget.New()).Build())
}

func newFailsafe(base http.RoundTripper, sizes Sizes) http.RoundTripper {
	bulk := bulkhead.NewBuilder[*http.Response](uint(sizes.InFlight)).WithMaxWaitTime(sizes.wait()).Build()
	return failsafehttp.NewRoundTripper(base, failsafeRetry().Build(), newBreaker(), bulk, timeout.New[*http.Response](sizes.attempt()))
}

// newBreaker opens for a second when half of the calls of the last ten fail. By
// default it opens after one failure, for a minute, and takes a full bulkhead for
// one, or a caller that left.
func newBreaker() circuitbreaker.CircuitBreaker[*http.Response] {
	return circuitbreaker.NewBuilder[*http.Response]().
		HandleIf(func(resp *http.Response, err error) bool {
			return err != nil && !errors.Is(err, bulkhead.ErrFull) && !errors.Is(err, context.Canceled) || resp != nil && resp.StatusCode >= 500
		}).
		WithFailureRateThreshold(0.5, 20, 10*time.Second).WithDelay(time.Second).WithSuccessThreshold(5).Build()
}

func newOfftake(base *http.Transport, w Wrap, url string, sizes Sizes) (*Client, error) {
	plan := capacity.Plan{
		InFlight: sizes.InFlight, Queue: sizes.Queue, Wait: sizes.wait(),
		Deadline: sizes.Deadline, Attempt: sizes.Attempt, Attempts: attempts,
	}
	options := &httpclient.Options{
		Name: "upstream", Base: &http.Transport{TLSClientConfig: base.TLSClientConfig}, Wrap: w, Registerer: prometheus.NewRegistry(),
	}
	if sizes.HTTP2 {
		plan.Streams, options.Protocols = sizes.InFlight, new(http.Protocols)
		options.Protocols.SetHTTP2(true)
	}
	c, err := httpclient.New(url, plan, options)
	if err != nil {
		return nil, err
	}
	ours := client(c.Client.Do)
	ours.Warm, ours.Stop = c.Warm, func() { c.Close() }
	return ours, nil
}
