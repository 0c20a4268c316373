package ot402

import (
	"context"

	"google.golang.org/grpc"
)

type reply struct{}

type client interface {
	Get(ctx context.Context, in *reply, opts ...grpc.CallOption) (*reply, error)
	Delete(ctx context.Context, in *reply, opts ...grpc.CallOption) (*reply, error)
	Watch(ctx context.Context, in *reply, opts ...grpc.CallOption) (watchClient, error)
	Follow(ctx context.Context, in *reply, opts ...grpc.CallOption) (*grpc.GenericClientStream[reply, reply], error)
	Local(ctx context.Context, in *reply, opts ...int) (*reply, error)
}

type watchClient interface {
	Recv() (*reply, error)
	grpc.ClientStream
}

func background(ctx context.Context, c client) {
	c.Get(context.Background(), &reply{}) // want `OT402: RPC on context.Background\(\) although ctx is in scope`
}

func invoke(ctx context.Context, c *grpc.ClientConn) error {
	return c.Invoke(context.TODO(), "/peer/Get", nil, nil) // want `OT402: .*`
}

func passed(ctx context.Context, c client) { c.Get(ctx, &reply{}) }

func none(c client) { c.Get(context.Background(), &reply{}) }

func stream(ctx context.Context, c client) { c.Watch(context.Background(), &reply{}) }

func genericStream(ctx context.Context, c client) { c.Follow(context.Background(), &reply{}) }

func local(ctx context.Context, c client) { c.Local(context.Background(), &reply{}) }

func undo(ctx context.Context, c client) { c.Delete(context.Background(), &reply{}) }

func goroutine(ctx context.Context, c client) {
	go c.Get(context.Background(), &reply{})
}

func deferred(ctx context.Context, c client) {
	defer c.Get(context.Background(), &reply{})
}

func afterwards(ctx context.Context, c client) {
	<-ctx.Done()
	c.Get(context.Background(), &reply{})
}
