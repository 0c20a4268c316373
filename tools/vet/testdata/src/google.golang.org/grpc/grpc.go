package grpc

import "context"

type CallOption interface{ before() }

type DialOption interface{ apply() }

type ClientConn struct{}

func NewClient(string, ...DialOption) (*ClientConn, error) { return nil, nil }

func Dial(string, ...DialOption) (*ClientConn, error) { return nil, nil }

func DialContext(context.Context, string, ...DialOption) (*ClientConn, error) { return nil, nil }

func (*ClientConn) Invoke(ctx context.Context, method string, in, out any, opts ...CallOption) error {
	return nil
}

type ClientStream interface {
	CloseSend() error
	RecvMsg(any) error
}

type GenericClientStream[Req, Res any] struct{ ClientStream }
