package grpcclient

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/grpctest"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// The methods of the test's service, which is written by hand: what a generated
// stub would do is what the tests want to see.
const (
	methodCall  = "/offtake.test.Upstream/Call"
	methodWatch = "/offtake.test.Upstream/Watch"
	methodChat  = "/offtake.test.Upstream/Chat"
)

var (
	watchDesc = &grpc.StreamDesc{StreamName: "Watch", ServerStreams: true}
	chatDesc  = &grpc.StreamDesc{StreamName: "Chat", ServerStreams: true, ClientStreams: true}
)

type unaryHandler = func(ctx context.Context, body []byte) ([]byte, error)

// upstream is a server. A nil handler answers at once.
type upstream struct {
	call   unaryHandler
	stream func(grpc.ServerStream) error
}

func (u *upstream) register(s *grpc.Server) {
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "offtake.test.Upstream",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Call", Handler: u.handle}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Watch", ServerStreams: true, Handler: u.handleStream},
			{StreamName: "Chat", ServerStreams: true, ClientStreams: true, Handler: u.handleStream},
		},
	}, u)
}

func (u *upstream) handle(_ any, ctx context.Context, decode func(any) error, through grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.BytesValue)
	if err := decode(in); err != nil {
		return nil, err
	}
	serve := func(ctx context.Context, in any) (any, error) {
		if u.call == nil {
			return in, nil
		}
		out, err := u.call(ctx, in.(*wrapperspb.BytesValue).Value)
		return wrapperspb.Bytes(out), err
	}
	if through == nil {
		return serve(ctx, in)
	}
	return through(ctx, in, &grpc.UnaryServerInfo{Server: u, FullMethod: methodCall}, serve)
}

func (u *upstream) handleStream(_ any, s grpc.ServerStream) error {
	if u.stream == nil {
		return nil
	}
	return u.stream(s)
}

// bubble runs a test with a real server and a real client over net.Pipe, in time
// that stands still while anything runs.
func bubble(t *testing.T, plan capacity.Plan, o *Options, u *upstream, test func(t *testing.T, c *Conn)) {
	t.Helper()
	bubbleWith(t, plan, o, u, test)
}

// bubbleWith is the same with a server that has options.
func bubbleWith(t *testing.T, plan capacity.Plan, o *Options, u *upstream, test func(t *testing.T, c *Conn), options ...grpc.ServerOption) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, piped(t, plan, o, u, options...))
	})
}

// piped starts a server and a client of it within a bubble.
func piped(t *testing.T, plan capacity.Plan, o *Options, u *upstream, options ...grpc.ServerOption) *Conn {
	t.Helper()
	l := pipenet.Listen()
	serve(t, l, u, options...)
	var own Options
	if o != nil {
		own = *o
	}
	if own.Dial == nil {
		own.Dial = pipeDial(l)
	}
	return dial(t, "passthrough:///upstream", plan, &own)
}

// pipeDial dials a listener, whatever the address.
func pipeDial(l *pipenet.Listener) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) { return l.Dial(ctx, "", address) }
}

func serve(t testing.TB, l net.Listener, u *upstream, options ...grpc.ServerOption) *grpc.Server {
	t.Helper()
	s := grpc.NewServer(options...)
	u.register(s)
	grpctest.Serve(t, s, l)
	return s
}

// loopback runs a server on a socket, and returns its address.
func loopback(t testing.TB, u *upstream, options ...grpc.ServerOption) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, l, u, options...)
	return l.Addr().String()
}

// dial makes a client, in plaintext if nothing else is said.
func dial(t testing.TB, target string, plan capacity.Plan, o *Options) *Conn {
	t.Helper()
	var own Options
	if o != nil {
		own = *o
	}
	if own.Registerer == nil {
		own.Registerer = prometheus.NewRegistry()
	}
	if own.Credentials == nil {
		own.Credentials = plaintext()
	}
	c, err := New(target, plan, &own)
	if err != nil {
		t.Fatalf("New(%q) = %v, want nil", target, err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func plaintext() credentials.TransportCredentials { return insecure.NewCredentials() }

// ask makes one unary call.
func ask(ctx context.Context, c grpc.ClientConnInterface, options ...grpc.CallOption) error {
	return c.Invoke(ctx, methodCall, wrapperspb.Bytes([]byte("ping")), new(wrapperspb.BytesValue), options...)
}

// hammer has workers call, one call after the other, until it is stopped. Done hears
// of each.
func hammer(c *Conn, workers int, done func(error)) (stop func()) {
	var (
		group sync.WaitGroup
		over  atomic.Bool
	)
	for range workers {
		group.Go(func() {
			for !over.Load() {
				done(ask(context.Background(), c))
			}
		})
	}
	return func() {
		over.Store(true)
		group.Wait()
	}
}

func wantNil(t *testing.T) func(error) {
	return func(err error) {
		if err != nil {
			t.Errorf("call = %v, want nil", err)
		}
	}
}

// slow answers after a time, or when its caller has gone.
func slow(d time.Duration) unaryHandler {
	return func(ctx context.Context, body []byte) ([]byte, error) {
		select {
		case <-time.After(d):
			return body, nil
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
}

// failing answers with a status.
func failing(code codes.Code) unaryHandler {
	return func(context.Context, []byte) ([]byte, error) { return nil, status.Error(code, "as the test has it") }
}

func warm(t testing.TB, c *Conn) {
	t.Helper()
	if err := c.Warm(context.Background()); err != nil {
		t.Fatalf("Warm() = %v, want nil", err)
	}
}

func wantIdle(t *testing.T, c *Conn) {
	t.Helper()
	if s := c.Stats(); s.InFlight != 0 || s.Queued != 0 || s.Streams != 0 {
		t.Errorf("in flight, queued, streams = %d, %d, %d, want 0, 0, 0", s.InFlight, s.Queued, s.Streams)
	}
}

func wantCode(t *testing.T, err error, code codes.Code, reason Reason) {
	t.Helper()
	if got, why := status.Code(err), ReasonOf(err); got != code || why != reason {
		t.Errorf("error %v has code %v, reason %q, want %v, %q", err, got, why, code, reason)
	}
}

func contains(s, part string) bool { return strings.Contains(s, part) }
