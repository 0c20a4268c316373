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
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/resolver"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
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

func TestAStormOfGoAwaysFailsNoCallAndLosesNoPlace(t *testing.T) {
	address := loopback(t, &upstream{}, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: 15 * time.Millisecond, MaxConnectionAgeGrace: time.Second}))
	c := dial(t, address, capacity.Plan{InFlight: 16, Streams: 4, Wait: time.Second, Attempt: 4 * time.Second}, &Options{Methods: idempotent(codes.Unavailable)})
	warm(t, c)
	var group sync.WaitGroup
	end := time.Now().Add(time.Second)
	for range 16 {
		group.Go(func() {
			for time.Now().Before(end) {
				if err := ask(context.Background(), c); err != nil {
					t.Errorf("call = %v, want nil", err)
					return
				}
			}
		})
	}
	group.Wait()
	wantIdle(t, c)
	c.core.pool.mu.Lock()
	defer c.core.pool.mu.Unlock()
	for l := range c.core.pool.filler.linksLocked() {
		if got := l.streams.Load(); got != 0 {
			t.Errorf("calls counted on a link after all have ended = %d, want 0", got)
		}
	}
}

// flapping cuts connections at random times.
type flapping struct{ conns sync.Map }

func (f *flapping) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", address)
	if err == nil {
		f.conns.Store(c, true)
	}
	return c, err
}

func (f *flapping) cut() {
	f.conns.Range(func(c, _ any) bool {
		c.(net.Conn).Close()
		f.conns.Delete(c)
		return true
	})
}

func TestLinksThatBreakAreCountedRight(t *testing.T) {
	address := loopback(t, &upstream{})
	var f flapping
	c := dial(t, address, capacity.Plan{InFlight: 16, Streams: 4, Deadline: 3 * time.Second}, &Options{Dial: f.dial})
	warm(t, c)
	var (
		group sync.WaitGroup
		calls atomic.Int64
	)
	stop := make(chan struct{})
	for range 16 {
		group.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					ask(context.Background(), c)
					calls.Add(1)
				}
			}
		})
	}
	for range 10 {
		seen := calls.Load()
		for calls.Load() < seen+50 {
			runtime.Gosched()
		}
		f.cut()
	}
	close(stop)
	group.Wait()
	wantIdle(t, c)
	for _, l := range c.core.readyLinks() {
		if got := l.streams.Load(); got != 0 {
			t.Errorf("calls counted on a link after all have ended = %d, want 0", got)
		}
	}
}

// hole is a connection that, once black, swallows what is written and says nothing.
type hole struct {
	net.Conn
	black *atomic.Bool
}

func (h *hole) Write(p []byte) (int, error) {
	if h.black.Load() {
		return len(p), nil
	}
	return h.Conn.Write(p)
}

func TestABlackHoleIsLeftBeforeKeepaliveNoticesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil)
		var black atomic.Bool
		o := f.options()
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			if address == "server-0" && black.Load() {
				return stuck(ctx, address)
			}
			c, err := f.dial(ctx, address)
			if err == nil && address == "server-0" {
				c = &hole{c, &black}
			}
			return c, err
		}
		c := dial(t, fleetName, perServer(2, 1), o)
		warm(t, c)
		for range 4 {
			if err := ask(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		black.Store(true)
		lost := 0
		for range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if ask(ctx, c) != nil {
				lost++
			}
			cancel()
		}
		if lost > 3 {
			t.Errorf("calls lost to a black hole, one after the other = %d of 60, want at most 3", lost)
		}
	})
}

func TestABlackHoleThatIsAllThereIsEndsWithKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		serve(t, l, &upstream{}, grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
		var black atomic.Bool
		dials := 0
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{
			Keepalive: keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true},
			Dial: func(ctx context.Context, address string) (net.Conn, error) {
				c, err := l.Dial(ctx, "", address)
				if dials++; err == nil && dials == 1 {
					c = &hole{c, &black}
				}
				return c, err
			},
		})
		warm(t, c)
		black.Store(true)
		<-time.After(25*time.Second + reconnectSpread)
		if err := ask(t.Context(), c); err != nil || dials != 2 {
			t.Errorf("call after keepalive's time and timeout = %v with %d dials, want nil with 2", err, dials)
		}
	})
}

func TestABlackHoleThatCanNotBeRedialedAtFirstIsLeftLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		serve(t, l, &upstream{})
		var black atomic.Bool
		down := time.Now().Add(10 * time.Second)
		dials := 0
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1, Deadline: time.Second, Attempts: capacity.NoRetry}, &Options{
			Dial: func(ctx context.Context, address string) (net.Conn, error) {
				if dials++; dials > 1 && time.Now().Before(down) {
					return nil, errors.New("network is unreachable")
				}
				c, err := l.Dial(ctx, "", address)
				if dials == 1 {
					c = &hole{c, &black}
				}
				return c, err
			},
		})
		warm(t, c)
		black.Store(true)
		began := time.Now()
		for ask(t.Context(), c) != nil {
			if time.Since(began) > 15*time.Second {
				t.Fatal("call 5s after the network is back = an error, want nil, and no wait for keepalive")
			}
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

func TestKeepaliveNeverOffendsAServerWithDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, slow(20*time.Hour))
		o := f.options()
		o.MaxAge, o.Lifetime = 24*time.Hour, 24*time.Hour
		plan := perServer(1, 2)
		c := dial(t, fleetName, plan, o)
		warm(t, c)
		s, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * defaultKeepalive)
		if dials := f.dialed(); dials != 2 {
			t.Errorf("dials in ten intervals of keepalive = %d, want the first 2 only", dials)
		}
		if err := s.Context().Err(); err != nil {
			t.Errorf("stream = %v, want it open", err)
		}
	})
}

func TestClientsOfAServerThatRestartsComeBackOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 200
		var (
			mu    sync.Mutex
			back  []time.Duration
			since time.Time
		)
		l := pipenet.Listen()
		u := &upstream{}
		server := serve(t, l, u)
		for range clients {
			first := true
			c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{
				Dial: func(ctx context.Context, address string) (net.Conn, error) {
					mu.Lock()
					if !first {
						back = append(back, time.Since(since))
					}
					first = false
					at := l
					mu.Unlock()
					return at.Dial(ctx, "", address)
				},
			})
			warm(t, c)
		}
		mu.Lock()
		l, since = pipenet.Listen(), time.Now()
		mu.Unlock()
		server.Stop()
		serve(t, l, u)
		<-time.After(5 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(back) != clients {
			t.Fatalf("dials after the restart = %d, want %d", len(back), clients)
		}
		slices.Sort(back)
		for i := range back {
			n := 0
			for _, at := range back[i:] {
				if at-back[i] < 100*time.Millisecond {
					n++
				}
			}
			if n > clients/4 {
				t.Errorf("clients back within the 100ms from %v = %d of %d, want at most a quarter", back[i], n, clients)
			}
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
