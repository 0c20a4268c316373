// Package grpctest runs gRPC servers for tests.
package grpctest

import (
	"context"
	"net"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/offtake-go/offtake/internal/pipenet"
)

// Serve has s serve l until the test ends, or one of the two is stopped before.
func Serve(t testing.TB, s *grpc.Server, l net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(l) }) // calls will show if it can't
	t.Cleanup(func() {
		s.Stop()
		serving.Wait()
	})
}

// Dial serves s over pipes, so that a testing/synctest bubble can hold it, and
// returns a connection to it until the test ends.
func Dial(t testing.TB, s *grpc.Server, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	l := pipenet.Listen()
	Serve(t, s, l)
	conn, err := grpc.NewClient("passthrough:///server", append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return l.Dial(ctx, "", address)
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}
