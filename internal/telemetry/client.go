package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
)

// ClientConfig says what a client records and where.
type ClientConfig struct {
	Upstream      string
	Address       string // of the upstream, for OpenTelemetry
	Port          int
	Registerer    prometheus.Registerer // nil is the default registerer
	MeterProvider metric.MeterProvider  // nil is the global one
	State         func() State          // read at each scrape, from any goroutine
}

// Client records the calls to one upstream. It is safe for concurrent use.
type Client struct {
	config      ClientConfig
	registerer  prometheus.Registerer
	meter       *meter
	queueWait   waits
	connectWait waits
	headers     prometheus.Histogram
	body        prometheus.Histogram
	dial        prometheus.Histogram
	duration    *durations
	attempts    [Outcomes]atomic.Uint64
	retries     [Retries]atomic.Uint64
	dials       [Outcomes]atomic.Uint64
	leaks       atomic.Uint64
	failures    failures
	read        clientDescs
}

var (
	clientQueueWait   = definition{name: "offtake_client_queue_wait_seconds", help: "Wait of a call for a place; 0 for one that did not wait."}
	clientConnectWait = definition{name: "offtake_client_connect_wait_seconds", help: "Wait of an attempt for its connection, dial and TLS included; 0 for a reused one."}
	clientHeaderWait  = definition{name: "offtake_client_header_wait_seconds", help: "Wait of an attempt for the headers of its response, from its connection on."}
	clientBodyTime    = definition{name: "offtake_client_body_seconds", help: "Time from the headers of a response to the end of its body, as the caller read it; absent without a body."}
	clientDuration    = definition{name: "offtake_client_request_duration_seconds", help: "Whole call, from its start to the end of its body.", labels: []string{"method", "outcome"}}
	clientDialSeconds = definition{name: "offtake_client_dial_seconds", help: "One dial with its TLS handshake, whoever used the connection."}

	clientInFlight    = definition{"offtake_client_in_flight", "Calls that hold a place.", prometheus.GaugeValue, nil}
	clientQueueLength = definition{"offtake_client_queue_length", "Calls that wait for a place.", prometheus.GaugeValue, nil}
	clientPlaces      = definition{"offtake_client_places", "Places there are.", prometheus.GaugeValue, nil}
	clientRequired    = definition{"offtake_client_required_places", "Places that the traffic of the last minute needs: rate times time in flight.", prometheus.GaugeValue, nil}
	clientBalance     = definition{"offtake_client_retry_budget_balance", "Retries that the budget allows at this moment.", prometheus.GaugeValue, nil}
	clientRefused     = definition{"offtake_client_refused_total", "Calls refused here, with nothing sent; observed ones were let pass.", prometheus.CounterValue, []string{"reason", "observed"}}
	clientAttempts    = definition{"offtake_client_attempts_total", "Requests sent, retries included.", prometheus.CounterValue, []string{"outcome"}}
	clientRetries     = definition{"offtake_client_retries_total", "Attempts after the first, by why the one before was not enough.", prometheus.CounterValue, []string{"reason"}}
	clientDials       = definition{"offtake_client_dials_total", "Dials that ended.", prometheus.CounterValue, []string{"outcome"}}
	clientConnections = definition{"offtake_client_connections", "Open connections; an upgraded one belongs to its caller.", prometheus.GaugeValue, []string{"state"}}
	clientEndpoints   = definition{"offtake_client_endpoints", "Addresses of the upstream: used, or left out for their failures.", prometheus.GaugeValue, []string{"state"}}
	clientLeftOut     = definition{"offtake_client_endpoints_left_out_total", "How often an address was left out; observed ones were used all the same.", prometheus.CounterValue, []string{"reason", "observed"}}
	clientLimited     = definition{"offtake_client_limited_total", "Calls cut short by a limit other than the gate's: a retry not sent for want of budget, a body too long; observed ones were let pass.", prometheus.CounterValue, []string{"limit", "observed"}}
	clientLeaks       = definition{"offtake_client_leaked_bodies_total", "Response bodies that nobody read to the end or closed; a deadline had to.", prometheus.CounterValue, nil}
)

// clientDescs are the metrics read at each scrape.
type clientDescs struct {
	inFlight, queueLength, places, required, balance *prometheus.Desc
	refused, attempts, retries, dials, connections   *prometheus.Desc
	limited, leaks, endpoints, leftOut               *prometheus.Desc
}

// NewClient registers the metrics of an upstream. A second client with the same
// name on the same registry is an error.
func NewClient(config ClientConfig) (*Client, error) {
	labels := prometheus.Labels{"upstream": config.Upstream}
	c := &Client{
		config:      config,
		queueWait:   newWaits(clientQueueWait, labels),
		connectWait: newWaits(clientConnectWait, labels),
		headers:     prometheus.NewHistogram(histogram(clientHeaderWait, labels)),
		body:        prometheus.NewHistogram(histogram(clientBodyTime, labels)),
		dial:        prometheus.NewHistogram(histogram(clientDialSeconds, labels)),
		duration:    newDurations(clientDuration, labels),
		read: clientDescs{
			clientInFlight.desc(labels), clientQueueLength.desc(labels), clientPlaces.desc(labels),
			clientRequired.desc(labels), clientBalance.desc(labels), clientRefused.desc(labels),
			clientAttempts.desc(labels), clientRetries.desc(labels), clientDials.desc(labels), clientConnections.desc(labels),
			clientLimited.desc(labels), clientLeaks.desc(labels), clientEndpoints.desc(labels), clientLeftOut.desc(labels),
		},
	}
	var err error
	if c.registerer, err = register(config.Registerer, (*clientCollector)(c), "client", config.Upstream); err != nil {
		return nil, err
	}
	if c.meter, err = newMeter(config); err != nil {
		c.registerer.Unregister((*clientCollector)(c))
		return nil, err
	}
	return c, nil
}

// Close takes the metrics off the registry.
func (c *Client) Close() {
	c.registerer.Unregister((*clientCollector)(c))
	c.meter.close()
}

// QueueWait records how long a call waited for a place.
func (c *Client) QueueWait(ctx context.Context, d time.Duration) {
	c.queueWait.observe(d)
	c.meter.queueWait(ctx, d)
}

// ConnectWait records how long an attempt waited for its connection; 0 is a
// reused one.
func (c *Client) ConnectWait(d time.Duration) { c.connectWait.observe(d) }

// Headers records how long an attempt waited for its response's headers, once it
// had its connection.
func (c *Client) Headers(d time.Duration) { c.headers.Observe(d.Seconds()) }

// Body records how long a body took, from its headers on, to be read or closed.
func (c *Client) Body(d time.Duration) { c.body.Observe(d.Seconds()) }

// Leaked counts a body that nobody read to its end or closed.
func (c *Client) Leaked() { c.leaks.Add(1) }

// Leaks is how many were.
func (c *Client) Leaks() uint64 { return c.leaks.Load() }

// SilentRetry counts a repetition by the transport.
func (c *Client) SilentRetry() { c.retries[RetrySilent].Add(1) }

// Dial records a dial that ended, with or without a connection.
func (c *Client) Dial(o Outcome, d time.Duration) {
	c.dials[o].Add(1)
	c.dial.Observe(d.Seconds())
}

// ConnectionClosed records how long a connection lived.
func (c *Client) ConnectionClosed(age time.Duration) { c.meter.connectionClosed(age) }

// Attempt counts one request sent.
func (c *Client) Attempt(o Outcome) { c.attempts[o].Add(1) }

// Retry counts an attempt after the first.
func (c *Client) Retry(why Retry) { c.retries[why].Add(1) }

// Call records a whole call. Code is the status of its response, 0 for none.
func (c *Client) Call(ctx context.Context, m Method, code int, o Outcome, d time.Duration) {
	c.duration.observe(m, o, d)
	c.meter.call(ctx, m, code, o, d)
}

// clientCollector is a Client as Prometheus sees it.
type clientCollector Client

// Describe implements prometheus.Collector.
func (c *clientCollector) Describe(out chan<- *prometheus.Desc) {
	for _, h := range []prometheus.Collector{&c.queueWait, &c.connectWait, c.headers, c.body, c.dial, c.duration.vec} {
		h.Describe(out)
	}
	r := c.read
	for _, d := range []*prometheus.Desc{
		r.inFlight, r.queueLength, r.places, r.required, r.balance,
		r.refused, r.attempts, r.retries, r.dials, r.connections, r.limited, r.leaks, r.endpoints, r.leftOut,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *clientCollector) Collect(out chan<- prometheus.Metric) {
	for _, h := range []prometheus.Collector{&c.queueWait, &c.connectWait, c.headers, c.body, c.dial, c.duration.vec} {
		h.Collect(out)
	}
	s, r := c.config.State(), c.read
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(r.inFlight, float64(s.InFlight))
	gauge(r.queueLength, float64(s.Queued))
	gauge(r.places, float64(s.Places))
	gauge(r.required, s.Required)
	gauge(r.balance, s.RetryBalance)
	gauge(r.connections, float64(s.Idle), "idle")
	gauge(r.connections, float64(s.Active), "active")
	counter(out, r.leaks, c.leaks.Load())
	if s.Upgraded > 0 {
		gauge(r.connections, float64(s.Upgraded), "upgraded")
	}
	if s.Endpoints > 0 {
		gauge(r.endpoints, float64(s.Endpoints-s.LeftOut), "used")
		gauge(r.endpoints, float64(s.LeftOut), "left_out")
	}
	for _, l := range s.Left {
		counterIfAny(out, r.leftOut, l.Refused, l.Reason, "false")
		counterIfAny(out, r.leftOut, l.Observed, l.Reason, "true")
	}
	collectRefusals(out, r.refused, s.Refusals)
	for _, l := range s.Limited {
		counterIfAny(out, r.limited, l.Refused, l.Reason, "false")
		counterIfAny(out, r.limited, l.Observed, l.Reason, "true")
	}
	for i := range c.retries {
		counter(out, r.retries, c.retries[i].Load(), Retry(i).String())
	}
	for i := range c.attempts {
		o := Outcome(i)
		counterIfAny(out, r.attempts, c.attempts[i].Load(), o.String())
		counterIfAny(out, r.dials, c.dials[i].Load(), o.String())
	}
}

// collectRefusals shows every reason from the start, and what observe mode let
// pass once there is any.
func collectRefusals(out chan<- prometheus.Metric, d *prometheus.Desc, refusals []Refusals) {
	for _, r := range refusals {
		counter(out, d, r.Refused, r.Reason, "false")
		counterIfAny(out, d, r.Observed, r.Reason, "true")
	}
}

func counter(out chan<- prometheus.Metric, d *prometheus.Desc, n uint64, labels ...string) {
	out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

// counterIfAny leaves out what has never happened: most outcomes never do, and
// each would be a series.
func counterIfAny(out chan<- prometheus.Metric, d *prometheus.Desc, n uint64, labels ...string) {
	if n > 0 {
		counter(out, d, n, labels...)
	}
}
