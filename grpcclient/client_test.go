package grpcclient

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/internal/clienttest"
)

func TestHasTheBehavioursThatAllClientsHave(t *testing.T) {
	clienttest.Run(t, clienttest.Subject{Open: func(t *testing.T, s clienttest.Setup) clienttest.Client {
		u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) { return body, s.Handle(ctx) }}
		o := &Options{DialOptions: []grpc.DialOption{grpc.WithUnaryInterceptor(
			func(ctx context.Context, method string, in, out any, cc *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
				if s.Before != nil {
					s.Before()
				}
				return next(ctx, method, in, out, cc, options...)
			})}}
		c := piped(t, s.Plan, o, u)
		return clienttest.Client{
			Call:     func(ctx context.Context) error { return ask(ctx, c) },
			Load:     func() (int, int) { now := c.Stats(); return now.InFlight, now.Queued },
			Resize:   c.Resize,
			Shutdown: c.Shutdown,
			Close:    c.Close,
		}
	}})
}
