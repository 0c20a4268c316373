package grpcclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"
)

// Options is how a connection is wired. Nil, and every zero field, is a default
// that is safe; sizes and times of calls are in the capacity.Plan.
type Options struct {
	// Name labels metrics, spans and errors. The default is the target's host. Two
	// clients on one Registerer must not share a name.
	Name string

	// Credentials secure the connections. The default is TLS with the system's
	// roots; insecure.NewCredentials() is plaintext. They belong here, and not into
	// DialOptions, because the pool watches its connections through them.
	Credentials credentials.TransportCredentials

	// DialOptions pass through to grpc-go: interceptors, per-call credentials, size
	// limits. Interceptors see each attempt, inside its place and its bounds; what
	// they repeat themselves is one attempt here, and not paid from the budget. What
	// makes this client what it is can't be changed by them: retries, service
	// configs from DNS, the idle timeout and the load-balancing policy of grpc-go
	// stay off, and Options.Dial and Options.Resolvers go before theirs.
	DialOptions []grpc.DialOption

	// Resolvers are further name resolvers, beside those that the program has
	// registered.
	Resolvers []resolver.Builder

	// Dial connects to an address, as "host:port" or "unix:path". The default is a
	// TCP dial, without a proxy.
	Dial func(ctx context.Context, address string) (net.Conn, error)

	// ServiceConfig is a service config of grpc-go, in JSON, with a load-balancing
	// policy of the user's own, or a healthCheckConfig. With a policy other than
	// [Policy] in it there are Plan.Connections whole channels, each with that
	// policy, in place of one channel with so many connections. Retries and timeouts
	// in it are refused: they are the plan's.
	ServiceConfig string

	// Spread has each call go to the connection with the fewest, for an address that
	// stands for many servers. By default a connection is filled before the next is
	// used: fewer and fuller writes cost less.
	Spread bool

	// Methods overrides times and allows retries, by "/package.Service/Method", or
	// by "/package.Service/*" for all methods of a service that have no entry of
	// their own.
	Methods map[string]Method

	// Streams is how many of the plan's places streams may hold, so that they leave
	// the others to unary calls. The default is half of Plan.InFlight, and at least
	// one.
	Streams int

	// Lifetime bounds a stream, however active. The default is an hour. A stream that
	// its caller has forgotten holds its place for so long.
	Lifetime time.Duration

	// Connect bounds a dial to one address, unless Dial is set. The default is 1.5 s,
	// which survives one lost SYN (its retransmission comes after 1 s: RFC 6298, section
	// 2). With the handshakes of TLS and HTTP/2 it has 5 s at most.
	Connect time.Duration

	// MaxAge is how long a connection is used at most, and how often names are resolved
	// again at least, so that new servers get their share. The default is 5 min, the
	// least 1 s. Connections are replaced one after the other, each once another stands
	// in its place, and no call is lost by it.
	MaxAge time.Duration

	// Keepalive pings connections that carry calls. The default is a Time of 6 min,
	// because a grpc-go server that is not told otherwise closes connections that are
	// pinged more often than every 5 min, with the calls on them, and a Timeout of
	// 10 s, which on Linux also bounds how long sent data may stay unacknowledged.
	// For servers known to allow it, {Time: 20 s, Timeout: 5 s, PermitWithoutStream:
	// true} notices a dead peer sooner.
	Keepalive keepalive.ClientParameters

	// Warm, if set, is called three times on each connection by Conn.Warm, since the
	// first calls on a new connection are the slowest. It must be cheap and safe: a
	// health check, as a rule. What it calls goes out on that connection.
	Warm func(ctx context.Context, conn grpc.ClientConnInterface) error

	// Diagnostics adds a stats.Handler that measures the wait for a stream also of
	// calls above the server's limit. It costs 15 allocations a call.
	Diagnostics bool

	// Observe starts the gate in observe mode: every decision is made and counted,
	// and none is applied. See Conn.Observe.
	Observe bool

	// Registerer takes the metrics. The default is prometheus.DefaultRegisterer.
	Registerer prometheus.Registerer

	// TracerProvider, MeterProvider and Propagator default to the global ones.
	TracerProvider trace.TracerProvider
	MeterProvider  metric.MeterProvider
	Propagator     propagation.TextMapPropagator
}

const (
	defaultLifetime         = time.Hour
	defaultConnect          = 1500 * time.Millisecond
	defaultMaxAge           = 5 * time.Minute
	defaultKeepalive        = 6 * time.Minute
	defaultKeepaliveTimeout = 10 * time.Second

	leastMaxAge    = reconnectSpread
	leastKeepalive = 10 * time.Second // grpc-go raises less, and says so in its log only
	longestConnect = 5 * time.Second  // all addresses of an endpoint, TLS and the preface
	longest        = 24 * time.Hour
)

// resolve fills in the defaults, or returns all mistakes at once.
func (o *Options) resolve() (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Credentials == nil {
		r.Credentials = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	}
	errs := []error{
		duration("Lifetime", &r.Lifetime, defaultLifetime, longest),
		duration("Connect", &r.Connect, defaultConnect, longestConnect),
		duration("MaxAge", &r.MaxAge, defaultMaxAge, longest),
		duration("Keepalive.Time", &r.Keepalive.Time, defaultKeepalive, longest),
		duration("Keepalive.Timeout", &r.Keepalive.Timeout, defaultKeepaliveTimeout, longest),
		checkServiceConfig(r.ServiceConfig),
		checkMethods(r.Methods),
		checkDialOptions(r.DialOptions),
	}
	if i := slices.Index(r.Resolvers, nil); i >= 0 {
		errs = append(errs, fmt.Errorf("Options.Resolvers[%d]: it is nil; leave it out", i))
	}
	if age := r.MaxAge; age > 0 && age < leastMaxAge {
		errs = append(errs, fmt.Errorf("Options.MaxAge: %v is less than the %v in which a connection can be replaced; %v would do", age, leastMaxAge, defaultMaxAge))
	}
	if r.Streams < 0 {
		errs = append(errs, fmt.Errorf("Options.Streams: %d places for streams; 1 would do, or 0 for half of the plan's", r.Streams))
	}
	if t := r.Keepalive.Time; t > 0 && t < leastKeepalive {
		errs = append(errs, fmt.Errorf("Options.Keepalive.Time: %v is less than the %v that grpc-go allows; %v would do", t, leastKeepalive, 2*leastKeepalive))
	}
	return r, errors.Join(errs...)
}

// checkDialOptions refuses credentials in them: they would replace those that the
// pool watches its connections through. Options are opaque, but grpc-go makes no
// client without credentials, and one is made without I/O.
func checkDialOptions(options []grpc.DialOption) error {
	if i := slices.Index(options, nil); i >= 0 {
		return fmt.Errorf("Options.DialOptions[%d]: it is nil; leave it out", i)
	}
	cc, err := grpc.NewClient("passthrough:///probe", options...)
	if err != nil {
		return nil //nolint:nilerr // no credentials in them, or a mistake that New will hear of again
	}
	cc.Close()
	return errors.New("Options.DialOptions: they hold transport credentials; Options.Credentials is the place for them")
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
