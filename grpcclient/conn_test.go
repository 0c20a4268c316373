package grpcclient

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// certificate is a server's for localhost, and the pool that knows it.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}

func TestTheServersLimitIsKnownBeforeTheFirstCall(t *testing.T) {
	cert, roots := certificate(t)
	for _, tt := range []struct {
		name    string
		secure  bool
		limit   uint32
		places  int
		room    int64
		refuses bool
	}{
		{"plain", false, 10, 40, 40, false},
		{"TLS", true, 10, 40, 40, false},
		{"plain, too few", false, 5, 20, 20, true},
		{"TLS, too few", true, 5, 20, 20, true},
		{"not stated", false, 0, 40, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var options []grpc.ServerOption
			o := &Options{}
			if tt.limit > 0 {
				options = append(options, grpc.MaxConcurrentStreams(tt.limit))
			}
			if tt.secure {
				options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
				o.Credentials = credentials.NewClientTLSFromCert(roots, "localhost")
			}
			address := loopback(t, &upstream{}, options...)
			c := dial(t, address, capacity.Plan{InFlight: 40, Streams: 10}, o)
			if err := c.Warm(t.Context()); (err != nil) != tt.refuses {
				t.Errorf("Warm() = %v, want an error: %v", err, tt.refuses)
			}
			if got := c.Stats(); got.Places != tt.places || got.Room != tt.room || got.Open != 4 {
				t.Errorf("Stats() = %d places, room for %d, %d connections, want %d, %d, 4", got.Places, got.Room, got.Open, tt.places, tt.room)
			}
			if err := ask(t.Context(), c); err != nil {
				t.Errorf("call = %v, want nil", err)
			}
		})
	}
}

func TestAnUntrustedServerIsNamedAsTheCause(t *testing.T) {
	cert, _ := certificate(t)
	_, others := certificate(t)
	address := loopback(t, &upstream{}, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	r := prometheus.NewRegistry()
	c := dial(t, address, capacity.Plan{InFlight: 1}, &Options{Registerer: r, Credentials: credentials.NewClientTLSFromCert(others, "localhost")})
	for _, options := range [][]grpc.CallOption{nil, {grpc.WaitForReady(true)}} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := ask(ctx, c, options...)
		cancel()
		if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
			t.Errorf("call = %v, want the certificate's error in it", err)
		}
	}
	wantCalls(t, r, "tls", 1)
	if _, n := series(t, r, "offtake_client_dials_total", map[string]string{"outcome": "tls"}); n == 0 {
		t.Error(`offtake_client_dials_total{outcome="tls"} = 0, want the failed handshakes`)
	}
	if err := c.Warm(t.Context()); !contains(err.Error(), "certificate") {
		t.Errorf("Warm() = %v, want the certificate's error in it", err)
	}
}

func TestAServerThatSpeaksAnotherProtocolIsNamedWithItsAddress(t *testing.T) {
	cert, _ := certificate(t)
	address := loopback(t, &upstream{}, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	c := dial(t, address, capacity.Plan{InFlight: 1}, nil) // in plaintext
	if err := c.Warm(t.Context()); err == nil || !contains(err.Error(), address+": connection error") {
		t.Errorf("Warm() = %v, want it to say which address did not answer as it must", err)
	}
}

func TestANameThatDoesNotExistIsNamedAsTheCause(t *testing.T) {
	c := dial(t, "dns:///no-such-host.invalid:443", capacity.Plan{InFlight: 1}, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err := c.Warm(ctx)
	if err == nil || !contains(err.Error(), "name resolution") {
		t.Errorf("Warm() = %v, want the name resolution's error", err)
	}
	wantCode(t, ask(ctx, c), codes.Unavailable, NoConnection)
}

// sleepyNames is a resolver whose first word is an error. There is no load-balancing
// policy yet that could hear of it.
func sleepyNames() *manual.Resolver {
	names := manual.NewBuilderWithScheme("names")
	names.BuildCallback = func(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) {
		cc.ReportError(errors.New("the name server sleeps"))
	}
	return names
}

func TestANameThatCanNotBeResolvedIsTheCauseFromTheStart(t *testing.T) {
	for name, config := range map[string]string{"our policy": "", "round_robin": roundRobin} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, nil)
				f.servers["server-0"].Close()
				names := sleepyNames()
				o := &Options{Dial: f.dial, Resolvers: []resolver.Builder{names}, ServiceConfig: config}
				c := dial(t, "names:///upstream", capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}, o)
				if err := c.Warm(t.Context()); err == nil || !contains(err.Error(), "sleeps") {
					t.Errorf("Warm() = %v, want the name resolution's error", err)
				}
				err := ask(t.Context(), c)
				if status.Code(err) != codes.Unavailable || !contains(err.Error(), "sleeps") {
					t.Errorf("call = %v, want UNAVAILABLE with the name resolution's error", err)
				}
				if got := outcomeOf(err); config == "" && got != telemetry.DNS {
					t.Errorf("outcome of %v = %v, want %v", err, got, telemetry.DNS)
				}
				names.UpdateState(f.state())
				synctest.Wait()
				if err := c.Warm(t.Context()); err == nil || contains(err.Error(), "sleeps") || !contains(err.Error(), "refused") {
					t.Errorf("Warm() once the name is found = %v, want the dial's error alone", err)
				}
			})
		})
	}
}

func TestOptionsGoBeforeDialOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		o := f.options()
		other := manual.NewBuilderWithScheme("fleet")
		other.InitialState(resolver.State{Addresses: []resolver.Address{{Addr: "elsewhere"}}})
		o.DialOptions = []grpc.DialOption{grpc.WithResolvers(other), grpc.WithContextDialer(stuck)}
		c := dial(t, fleetName, perServer(1, 1), o)
		if err := c.Warm(t.Context()); err != nil || f.dialed() != 1 {
			t.Errorf("Warm() = %v with %d dials of Options.Dial to what Options.Resolvers has, want nil, 1", err, f.dialed())
		}
	})
}

func TestASocketOfThisMachineIsAnUpstreamToo(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, &upstream{})
	c := dial(t, "unix://"+path, capacity.Plan{InFlight: 1}, nil)
	if err := ask(t.Context(), c); err != nil {
		t.Errorf("call over a unix socket = %v, want nil", err)
	}
}

func TestTheSecondAddressOfAServerIsNotMadeToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil)
		f.servers["server-0"].Close() // an address family that is not routed
		s := f.state()
		s.Endpoints = []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: "server-0"}, {Addr: "server-1"}}}}
		f.name.InitialState(s)
		c := dial(t, fleetName, perServer(1, 1), f.options())
		began := time.Now()
		warm(t, c)
		if got := time.Since(began); got != 0 {
			t.Errorf("Warm by the second address took %v, want no pause", got)
		}
	})
}

func TestAChangedLimitMovesThePlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil, grpc.MaxConcurrentStreams(10))
		c := dial(t, fleetName, capacity.Plan{InFlight: 40, Streams: 20}, f.options())
		c.Warm(t.Context())
		if got := c.Stats().Places; got != 20 {
			t.Errorf("places on two servers of 10 streams = %d, want 20", got)
		}
		s := f.state()
		s.Endpoints = s.Endpoints[:1] // both connections to one server now
		f.name.UpdateState(s)
		synctest.Wait()
		c.core.readyLinks()[0].learn(30)
		if got := c.Stats().Places; got != 40 {
			t.Errorf("places after one of two says 30 = %d, want 40", got)
		}
	})
}

func TestALimitThatIsStatedLateCountsToo(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 40}, nil, &upstream{}, func(t *testing.T, c *Conn) {
		warm(t, c)
		for _, limit := range []uint32{10, 30, 5} {
			c.core.readyLinks()[0].learn(limit)
			if s := c.Stats(); s.Places != int(limit) || s.Room != int64(limit) {
				t.Errorf("places, room after a server without a limit says %d = %d, %d, want that", limit, s.Places, s.Room)
			}
		}
	})
}

func TestTheLimitOfAServerThatIsGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		strict, free := pipenet.Listen(), pipenet.Listen()
		server := serve(t, strict, &upstream{}, grpc.MaxConcurrentStreams(10))
		serve(t, free, &upstream{})
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 40}, &Options{Dial: func(ctx context.Context, address string) (net.Conn, error) {
			if d, ok := ctx.Deadline(); !ok || time.Until(d) < longestConnect {
				t.Errorf("a dial has until %v, want %v at least, whatever pause came before", d, longestConnect)
			}
			if conn, err := strict.Dial(ctx, "", address); err == nil {
				return conn, nil
			}
			return free.Dial(ctx, "", address)
		}})
		c.Warm(t.Context())
		if got := c.Stats().Places; got != 10 {
			t.Errorf("places with a limit of 10 = %d, want 10", got)
		}
		server.Stop()
		<-time.After(2 * reconnectSpread)
		if s := c.Stats(); s.Places != 40 || s.Room != 0 {
			t.Errorf("places, room on a server without a limit = %d, %d, want 40, 0", s.Places, s.Room)
		}
	})
}

// lateCredentials take their time with the first handshake, whoever has lost interest.
type lateCredentials struct {
	credentials.TransportCredentials
	handshakes *atomic.Int64
}

func (k lateCredentials) ClientHandshake(ctx context.Context, authority string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if k.handshakes.Add(1) == 1 {
		<-time.After(time.Second)
	}
	return k.TransportCredentials.ClientHandshake(ctx, authority, raw)
}

func (k lateCredentials) Clone() credentials.TransportCredentials { return k }

func TestTheSecondAddressOfAServerLeavesTheLimitOfTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil, grpc.MaxConcurrentStreams(10))
		f.delay["server-0"] = 300 * time.Millisecond // the second is dialed after 250 ms
		s := f.state()
		s.Endpoints = []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: "server-0"}, {Addr: "server-1"}}}}
		f.name.InitialState(s)
		o := f.options()
		o.Credentials = lateCredentials{plaintext(), new(atomic.Int64)}
		plan := capacity.Plan{InFlight: 40}
		c := dial(t, fleetName, plan, o)
		c.Warm(t.Context())
		<-time.After(2 * time.Second)
		if err := c.Resize(plan); err != nil { // counts the streams again
			t.Fatal(err)
		}
		if s := c.Stats(); f.dialed() != 2 || s.Open != 1 || s.Places != 10 {
			t.Errorf("dials, connections, places = %d, %d, %d, want 2, 1, 10", f.dialed(), s.Open, s.Places)
		}
	})
}

func TestAConnectionDoesNotInherit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		var last net.Conn
		o := f.options()
		o.Dial = func(ctx context.Context, address string) (conn net.Conn, err error) {
			conn, err = f.dial(ctx, address)
			last = conn
			return conn, err
		}
		c := dial(t, fleetName, perServer(1, 1), o)
		warm(t, c)
		l := c.core.readyLinks()[0]
		for _, b := range []*atomic.Bool{&l.away, &l.used, &l.suspect} {
			b.Store(true)
		}
		l.timeout.Store(1)
		l.learn(10)
		l.back.Store(false)
		last.Close()
		synctest.Wait()
		l.away.Store(true) // a second GOAWAY, after the dial for the first
		<-time.After(reconnectSpread)
		warm(t, c)
		if l.away.Load() || l.used.Load() || l.suspect.Load() || l.timeout.Load() != 0 || l.limit.Load() != unlimited {
			t.Errorf("away, used, suspect, timeout, limit of a new connection = %v, %v, %v, %d, %d, want none", l.away.Load(), l.used.Load(), l.suspect.Load(), l.timeout.Load(), l.limit.Load())
		}
	})
}

func TestAServerThatAllowsNoStreamIsAskedOnceAtATime(t *testing.T) {
	r := prometheus.NewRegistry()
	bubble(t, capacity.Plan{InFlight: 40}, &Options{Registerer: r}, &upstream{}, func(t *testing.T, c *Conn) {
		warm(t, c)
		c.core.readyLinks()[0].learn(0)
		if err := c.Warm(t.Context()); err == nil || !contains(err.Error(), "allows no stream") {
			t.Errorf("Warm() = %v, want it to say that there is no stream", err)
		}
		if err := ask(t.Context(), c); err != nil { // grpc-go does not know of this limit
			t.Errorf("call = %v, want nil", err)
		}
		if s := c.Stats(); s.Places != 1 || s.OverLimit != 1 {
			t.Errorf("places, calls over the limit = %d, %d, want 1, 1", s.Places, s.OverLimit)
		}
		if n, _ := series(t, r, "offtake_client_stream_wait_seconds", nil); n != 0 {
			t.Errorf("waits for a stream = %d, want none: how long it was is not known", n)
		}
	})
}

func TestAPlanMayChangeWhileCallsAreOut(t *testing.T) {
	address := loopback(t, &upstream{}, grpc.MaxConcurrentStreams(10))
	c := dial(t, address, capacity.Plan{InFlight: 4, Streams: 1, Queue: 8, Wait: time.Second}, nil)
	warm(t, c)
	stop := hammer(c, 8, wantNil(t))
	for i := range 30 {
		plan := perServer(1, 1+i%6)
		plan.Queue = 8 // every worker may wait
		if err := c.Resize(plan); err != nil {
			t.Error(err)
		}
		c.Observe(i%2 == 0)
		warm(t, c)
	}
	c.Observe(false)
	stop()
	wantIdle(t, c)
	if got, want := c.Stats().Open, 6; got != want {
		t.Errorf("connections = %d, want %d", got, want)
	}
}
