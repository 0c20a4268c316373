package grpcupstream

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/grpcclient"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// Upstream is a fake upstream over gRPC. Make one with [Loopback] or [Pipes]; it
// ends with its test. All methods may be called from any goroutine.
//
// Each call has the next step of the script. The last one goes on for all that
// follow; without a script, every call reaches its handler.
type Upstream struct {
	register func(*grpc.Server)
	listen   func() net.Listener

	mu       sync.Mutex
	script   []Step
	sent     []Call
	now      *serving
	refusing bool
	ended    bool
	running  sync.WaitGroup
}

// Call is one that the upstream has seen, whatever came of it.
type Call struct {
	Method string // "/package.Service/Method"
	At     time.Time
}

// serving is a grpc server on its listener; another one follows its GOAWAY.
type serving struct {
	upstream *Upstream
	server   *grpc.Server
	listener *tracked
}

// Loopback starts an upstream on 127.0.0.1. Register has the services registered,
// as often as a server is started.
func Loopback(t testing.TB, register func(*grpc.Server), script ...Step) *Upstream {
	t.Helper()
	return start(t, register, script, func() net.Listener {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Errorf("Listen() = %v, want nil", err)
			return pipenet.Listen() // nobody can dial it
		}
		return l
	})
}

// Pipes starts an upstream without sockets, for a bubble of testing/synctest.
func Pipes(t testing.TB, register func(*grpc.Server), script ...Step) *Upstream {
	t.Helper()
	return start(t, register, script, func() net.Listener { return pipenet.Listen() })
}

func start(t testing.TB, register func(*grpc.Server), script []Step, listen func() net.Listener) *Upstream {
	u := &Upstream{register: register, listen: listen, script: slices.Clone(script)}
	u.mu.Lock()
	u.serveLocked()
	u.mu.Unlock()
	t.Cleanup(u.end)
	return u
}

func (u *Upstream) serveLocked() {
	s := &serving{upstream: u, listener: &tracked{Listener: u.listen()}}
	s.server = grpc.NewServer(
		grpc.ChainUnaryInterceptor(func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
			if err := s.step(info.FullMethod)(context.WithValue(ctx, key{}, s)); err != nil {
				return nil, err
			}
			return handler(ctx, req)
		}),
		grpc.ChainStreamInterceptor(func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
			if err := s.step(info.FullMethod)(context.WithValue(ss.Context(), key{}, s)); err != nil {
				return err
			}
			return handler(srv, ss)
		}),
	)
	u.register(s.server)
	u.now = s
	u.running.Go(func() { _ = s.server.Serve(s.listener) }) // its calls show if it can't
}

func (u *Upstream) end() {
	u.mu.Lock()
	u.ended = true
	now := u.now
	u.mu.Unlock()
	now.server.Stop()
	u.running.Wait()
}

// key finds the server of a call.
type key struct{}

func of(ctx context.Context) *serving { return ctx.Value(key{}).(*serving) }

func (s *serving) step(method string) Step {
	u := s.upstream
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent = append(u.sent, Call{method, time.Now()})
	switch len(u.script) {
	case 0:
		return OK()
	case 1:
		return u.script[0]
	}
	step := u.script[0]
	u.script = u.script[1:]
	return step
}

// goAway starts another server and lets this one's calls finish.
func (s *serving) goAway() {
	u := s.upstream
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended || u.now != s {
		return
	}
	u.serveLocked()
	u.running.Go(s.server.GracefulStop)
}

func (s *serving) closeConns() { s.listener.closeConns() }

// Script replaces what is left of the script.
func (u *Upstream) Script(script ...Step) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.script = slices.Clone(script)
}

// Refuse makes the upstream a bad endpoint, which refuses who dials it, or a good one
// again. Connections that stand are left.
func (u *Upstream) Refuse(on bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.refusing = on
}

var errRefused = errors.New("connection refused by the test")

// Dial connects to the upstream, whatever the address: it is a dialer for
// grpcclient.Options.Dial and for grpc.WithContextDialer.
func (u *Upstream) Dial(ctx context.Context, address string) (net.Conn, error) {
	u.mu.Lock()
	l, refusing := u.now.listener, u.refusing
	u.mu.Unlock()
	if refusing {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: l.Addr(), Err: errRefused}
	}
	if pipe, ok := l.Listener.(*pipenet.Listener); ok {
		return pipe.Dial(ctx, "", address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
}

// Conn returns a connection to the upstream, which ends with the test. Its metrics
// are on a registry of its own. The zero plan has 4 places, 2 s for a call, and
// 500 ms for an attempt. Options are taken as they are, but for the registry, the
// credentials and the dial.
func (u *Upstream) Conn(t testing.TB, plan capacity.Plan, options *grpcclient.Options) *grpcclient.Conn {
	t.Helper()
	if plan == (capacity.Plan{}) {
		plan = capacity.Plan{InFlight: 4, Wait: 50 * time.Millisecond, Attempt: 500 * time.Millisecond, Deadline: 2 * time.Second}
	}
	var o grpcclient.Options
	if options != nil {
		o = *options
	}
	o.Registerer, o.Credentials, o.Dial = prometheus.NewRegistry(), insecure.NewCredentials(), u.Dial
	c, err := grpcclient.New("passthrough:///upstream.test", plan, &o)
	if err != nil {
		t.Fatalf("grpcclient.New() = %v, want nil", err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// Sent returns the calls that came, in their order.
func (u *Upstream) Sent() []Call {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.sent)
}

// WantSent fails the test unless exactly calls of these methods came.
func (u *Upstream) WantSent(t testing.TB, want ...string) {
	t.Helper()
	var got []string
	for _, c := range u.Sent() {
		got = append(got, c.Method)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the upstream got %q, want %q", got, want)
	}
}

// tracked is a listener that knows its connections.
type tracked struct {
	net.Listener

	mu    sync.Mutex
	conns []net.Conn
}

// Accept implements net.Listener.
func (l *tracked) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		l.conns = append(l.conns, c)
		l.mu.Unlock()
	}
	return c, err
}

func (l *tracked) closeConns() {
	l.mu.Lock()
	conns := l.conns
	l.conns = nil
	l.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}
