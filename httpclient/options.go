package httpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// NoLimit as Options.MaxBody leaves response bodies unbounded: a download, not
// an answer. As Options.ExpectContinue it has no body wait for the upstream.
const NoLimit = -1

// Options is how a client is wired. Nil, and every zero field, is a default that
// is safe; sizes and times of calls are in the capacity.Plan.
type Options struct {
	// Name labels metrics, spans and errors. The default is the target's host. Two
	// clients on one Registerer must not share a name.
	Name string

	// Hosts are further hosts of the same upstream, as "host" or "host:port". Any
	// host beside these and the target's own is refused with a *HostError.
	Hosts []string

	// Protocols is what may be spoken. The default is HTTP/1.1 alone: one request
	// a connection is what the sizes of a plan are exact for. With HTTP/2 set
	// Plan.Streams to the upstream's limit on concurrent streams. With both, an
	// upstream that turns HTTP/2 down has one request a connection after all. With
	// UnencryptedHTTP2 and nothing else, an http target is spoken to in HTTP/2.
	Protocols *http.Protocols

	// Base lends its settings: TLS (roots, client certificates, and a session cache if
	// it has one: crypto/tls calls neither VerifyPeerCertificate nor
	// GetClientCertificate for a session that is resumed), Proxy, headers for
	// CONNECT, and DialContext, if set, in place of the client's own connect. It is
	// copied, never used itself. So are its pings and write timeout for HTTP/2, in
	// place of 30 s, 10 s and 10 s. The default has no proxy: set Base.Proxy to
	// http.ProxyFromEnvironment, which reads the environment once. A DialContext
	// must heed its context: Close waits for it.
	Base *http.Transport

	// Resolver, if set, names the target's addresses in place of DNS: the endpoints of
	// a Kubernetes Service, say, or a list. It returns them in the order to try them,
	// each with a port or 0 for the target's own, and until when there is no need to
	// ask again; the zero time is to ask for each dial. If it fails or has none, those
	// it had last still stand. The name in the target remains that of TLS and of the
	// Host header. It may be called from several goroutines, and must heed its context.
	Resolver func(ctx context.Context) (addresses []netip.AddrPort, until time.Time, err error)

	// Wrap, if set, is called once with the transport that sends attempts; what it
	// returns is used in its place. A wrapper sees each attempt, sizes and bounds
	// around it, and must not keep a request or a body after it has returned it. A
	// request that it makes must have the context of the one it was given, or one
	// below it.
	Wrap func(http.RoundTripper) http.RoundTripper

	// Jar is as in http.Client, and like it knows nothing of requests for a path
	// alone. The default keeps no cookies.
	Jar http.CookieJar

	// FollowRedirects follows up to 10 redirects within the upstream's own hosts.
	// By default a redirect is a response like any other. Each hop is a call of its
	// own, with its own deadline.
	FollowRedirects bool

	// Gzip asks for compressed bodies and unpacks them. The default is off: it
	// costs CPU, the length, and a bomb is small on the wire.
	Gzip bool

	// MaxBody bounds a response body, in bytes after unpacking; what is longer ends
	// with a *BodyLimitError. The default is 16 MiB, and NoLimit is none.
	MaxBody int64

	// MaxHeader bounds response headers, in bytes; longer ones end with a
	// *HeaderLimitError. The default is 256 KiB.
	MaxHeader int64

	// Connect bounds a dial to one address. The default is 1.5 s, which survives
	// one lost SYN (its retransmission comes after 1 s: RFC 6298, section 2). All
	// addresses of a name and the TLS handshake together have 4 s; a call waits for
	// them no longer than Plan.Attempt, and what it has given up serves another.
	Connect time.Duration

	// Idle is how long an unused connection is kept. The default is 45 s. It must
	// be shorter than the upstream's own idle timeout, or requests meet
	// connections that are being closed: 60 s for most balancers, 75 s for nginx.
	Idle time.Duration

	// MaxAge is how long a connection is used, give or take a tenth, so that
	// changes in DNS are followed and new pods get their share. The default is
	// 5 min. No request is lost by it: a connection is used until its successor
	// stands, for which there may be one more than planned for a moment, and for as
	// long as none can be had.
	MaxAge time.Duration

	// ExpectContinue is the size from which a request's body is sent only after the
	// upstream has agreed ("Expect: 100-continue"), in bytes. The default is 1 MiB,
	// as curl has it; NoLimit never asks, and a body of unknown length is sent at
	// once. It costs a round trip, and where nobody answers, once, a quarter of
	// Plan.Attempt or 1 s, if that is less: an upstream that has let it pass is not
	// asked again.
	ExpectContinue int64

	// TellDeadline sends each request with the time that its answer is waited for, in
	// milliseconds, in X-Envoy-Expected-Rq-Timeout-Ms: the door of package admission
	// reads it, so that a chain of services gives up together. The default is off.
	TellDeadline bool

	// WarmPath is requested with GET on each connection that Warm opens, so that
	// the upstream itself is warm too; it must be cheap and safe, and answer below
	// 400. "*" sends OPTIONS *, which asks for nothing in particular, and takes any
	// answer. By default Warm dials, with TLS, and sends nothing.
	WarmPath string

	// Observe starts the client in observe mode: every decision of its limits is
	// made and counted, and none is applied: no answer is another than without this
	// client. The default is off. See Client.Observe.
	Observe bool

	// Registerer takes the metrics. The default is prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// TracerProvider, MeterProvider and Propagator default to the global ones.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	Propagator     propagation.TextMapPropagator
}

const (
	defaultMaxBody   = 16 << 20
	defaultMaxHeader = 256 << 10
	defaultExpect    = 1 << 20
	defaultConnect   = 1500 * time.Millisecond
	defaultIdle      = 45 * time.Second
	defaultMaxAge    = 5 * time.Minute

	longestConnect = 4 * time.Second // all addresses and TLS
	longestIdle    = time.Hour       // the longest time a plan may state, too
)

// resolve fills in the defaults, or returns all mistakes at once.
func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	errs := []error{
		duration("Connect", &r.Connect, defaultConnect, longestConnect),
		duration("Idle", &r.Idle, defaultIdle, longestIdle),
		duration("MaxAge", &r.MaxAge, defaultMaxAge, 24*time.Hour),
		size("MaxHeader", &r.MaxHeader, defaultMaxHeader),
	}
	if r.ExpectContinue != NoLimit {
		errs = append(errs, size("ExpectContinue", &r.ExpectContinue, defaultExpect))
	}
	if r.MaxBody != NoLimit {
		errs = append(errs, size("MaxBody", &r.MaxBody, defaultMaxBody))
	}
	if r.WarmPath != "" && r.WarmPath != "*" && r.WarmPath[0] != '/' {
		errs = append(errs, fmt.Errorf("Options.WarmPath: %q does not start with a slash; %q would do", r.WarmPath, "/"+r.WarmPath))
	}
	errs = append(errs, r.resolveProtocols(), checkBase(r.Base))
	return r, errors.Join(errs...)
}

func (o *Options) resolveProtocols() error {
	if o.Protocols == nil {
		o.Protocols = new(http.Protocols)
		o.Protocols.SetHTTP1(true)
		return nil
	}
	p := *o.Protocols // the caller may go on changing theirs
	o.Protocols = &p
	if p == (http.Protocols{}) {
		return errors.New("Options.Protocols: none is set; leave it nil for HTTP/1.1")
	}
	return nil
}

// duration fills in a default, or says what is wrong with d.
func duration(field string, d *time.Duration, byDefault, longest time.Duration) error {
	if *d == 0 {
		*d = byDefault
	}
	if *d < 0 || *d > longest {
		return fmt.Errorf("Options.%s: %v is not in (0s, %v]; %v would do, or 0 for it", field, *d, longest, byDefault)
	}
	return nil
}

// size fills in a default, or says what is wrong with n.
func size(field string, n *int64, byDefault int64) error {
	if *n == 0 {
		*n = byDefault
	}
	if *n < 0 {
		return fmt.Errorf("Options.%s: %d bytes is not positive; %d would do, or 0 for it", field, *n, byDefault)
	}
	return nil
}
