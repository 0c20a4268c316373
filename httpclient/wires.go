package httpclient

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/endpoint"
	"github.com/offtake-go/offtake/internal/pool"
	"github.com/offtake-go/offtake/internal/redact"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// newPool makes the pool of a client.
func newPool(c *core) *pool.Pool {
	o := c.options
	po := pool.Options{
		Scheme: c.target.scheme, Hosts: c.target.names(), Address: c.target.dialAddressOf,
		Protocols: *o.Protocols, Maker: func(*http.Protocols) *http.Transport { return newTransport(o, c.plan.Load().Attempt) }, TLS: tlsConfig(o),
		Connect: o.Connect, Longest: longestConnect, Idle: o.Idle, MaxAge: o.MaxAge,
		Events: report{c},
	}
	if base := o.Base; base != nil {
		if po.Dial = base.DialContext; po.Dial == nil && base.Dial != nil { //nolint:staticcheck // deprecated, and net/http still uses it
			po.Dial = func(_ context.Context, network, address string) (net.Conn, error) { return base.Dial(network, address) } //nolint:staticcheck // as above
		}
	}
	if o.Resolver != nil {
		po.Resolve = c.lookUp
	}
	if o.WarmPath != "" {
		po.Prove = c.prove
	}
	return pool.New(po, sizesOf(*c.plan.Load()))
}

// lookUp asks the user's resolver for the target, and the system for all others.
func (c *core) lookUp(ctx context.Context, host string) ([]netip.AddrPort, time.Time, error) {
	if own, _ := c.target.hostPort(); host == own {
		return c.options.Resolver(ctx)
	}
	return pool.System(ctx, host)
}

func sizesOf(p capacity.Plan) pool.Sizes {
	return pool.Sizes{Connections: p.Connections, Streams: p.Streams, Attempt: p.Attempt}
}

// report is what happens in the pool, for the metrics.
type report struct{ core *core }

// Dialed implements pool.Events.
func (e report) Dialed(took time.Duration, err *pool.DialError) {
	if err == nil {
		e.core.telemetry.Dial(telemetry.Status2xx, took)
		return
	}
	o := outcomeOfPhase(err.Phase)
	e.core.telemetry.Dial(o, took)
	e.core.telemetry.Failed(o, time.Now(), err)
}

// Closed implements pool.Events.
func (e report) Closed(age time.Duration) { e.core.telemetry.ConnectionClosed(age) }

// TurnedDown implements pool.Events: a connection is a place then, for good.
func (e report) TurnedDown() {
	e.core.resizing.Lock()
	defer e.core.resizing.Unlock()
	e.core.gate.Resize(e.core.limitsOf(*e.core.plan.Load()))
}

// Judged implements pool.Events. An endpoint is left out once or twice in an
// incident, so that a line in the log for each is not too many.
func (e report) Judged(c endpoint.Change) {
	if !c.Out {
		slog.Info("offtake: endpoint is back", "upstream", e.core.name, "endpoint", c.Endpoint)
		return
	}
	text := ""
	if c.Err != nil {
		text = redact.Text(c.Err.Error())
	}
	slog.Warn("offtake: endpoint is left out", "upstream", e.core.name, "endpoint", c.Endpoint, "reason", c.Reason.String(), "observed", c.Observed, "error", text)
}

// CloseIdleConnections is what http.Client's method of that name calls.
func (c *core) CloseIdleConnections() { c.pool.CloseIdle() }

// prove sends the request for warming on one connection, through the user's
// wrapper: that may add what the upstream asks for.
func (c *core) prove(ctx context.Context, on http.RoundTripper) error {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, proofKey{}, on), c.plan.Load().Attempt)
	defer cancel()
	return warmBy(c.engine, c.warmRequest(ctx))
}

// tlsConfig is Base's, or a new one.
//
// It is tempting to add a session cache, since a resumed session costs the
// upstream no signature. But crypto/tls does not call VerifyPeerCertificate and
// GetClientCertificate for one, so that a peer whose trust was withdrawn and a
// client certificate that was replaced would go on for as long as tickets do.
// Only whoever wrote the configuration knows whether that will do.
func tlsConfig(o Options) *tls.Config {
	config := new(tls.Config)
	if o.Base != nil && o.Base.TLSClientConfig != nil {
		config = o.Base.TLSClientConfig.Clone()
	}
	config.MinVersion = max(config.MinVersion, tls.VersionTLS12)
	return config
}
