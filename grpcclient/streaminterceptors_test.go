package grpcclient

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
)

// cached is a stream that an interceptor has made up.
type cached struct {
	grpc.ClientStream
	left int
}

func (c *cached) SendMsg(any) error { return nil }

func (c *cached) CloseSend() error { return nil }

func (c *cached) RecvMsg(any) error {
	if c.left == 0 {
		return io.EOF
	}
	c.left--
	return nil
}

// reopened is a stream that begins anew when it fails, as of an interceptor that
// repeats.
type reopened struct {
	grpc.ClientStream
	again func() (grpc.ClientStream, error)
}

func (r *reopened) RecvMsg(m any) error {
	err := r.ClientStream.RecvMsg(m)
	if status.Code(err) != codes.Unavailable {
		return err
	}
	if r.ClientStream, err = r.again(); err != nil {
		return err
	}
	r.ClientStream.SendMsg(wrapperspb.Bytes(nil))
	r.ClientStream.CloseSend()
	return r.ClientStream.RecvMsg(m)
}

func TestAStreamIsItsCallersWhateverInterceptorsMakeOfIt(t *testing.T) {
	for _, tt := range []struct {
		name      string
		intercept func(open func(...grpc.CallOption) (grpc.ClientStream, error), options []grpc.CallOption) (grpc.ClientStream, error)
		messages  int
	}{
		{"made up", func(func(...grpc.CallOption) (grpc.ClientStream, error), []grpc.CallOption) (grpc.ClientStream, error) {
			return &cached{left: 2}, nil
		}, 2},
		{"without its options", func(open func(...grpc.CallOption) (grpc.ClientStream, error), _ []grpc.CallOption) (grpc.ClientStream, error) {
			return open()
		}, 3},
		{"opened again", func(open func(...grpc.CallOption) (grpc.ClientStream, error), options []grpc.CallOption) (grpc.ClientStream, error) {
			if _, err := open(append(options, grpc.CallContentSubtype("unheard of"))...); err == nil {
				return nil, errors.New("opened with a codec that is not there")
			}
			return open(options...)
		}, 3},
		{"begun anew", func(open func(...grpc.CallOption) (grpc.ClientStream, error), options []grpc.CallOption) (grpc.ClientStream, error) {
			s, err := open(options...)
			return &reopened{s, func() (grpc.ClientStream, error) { return open(options...) }}, err
		}, 3},
	} {
		intercept := func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
			return tt.intercept(func(options ...grpc.CallOption) (grpc.ClientStream, error) {
				return next(ctx, desc, cc, method, options...)
			}, options)
		}
		first := true
		serve := func(s grpc.ServerStream) error {
			if tt.name == "begun anew" && first {
				first = false
				return status.Error(codes.Unavailable, "not yet")
			}
			return ticking(3, time.Second)(s)
		}
		o := &Options{Lifetime: time.Minute, DialOptions: []grpc.DialOption{grpc.WithChainStreamInterceptor(intercept)}}
		t.Run(tt.name+", read to its end", func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{stream: serve}, func(t *testing.T, c *Conn) {
				s := watchStream(t.Context(), t, c)
				if n, err := drain(s); n != tt.messages || err != io.EOF {
					t.Errorf("stream = %d messages and %v, want %d and EOF", n, err, tt.messages)
				}
				wantIdle(t, c)
			})
		})
		t.Run(tt.name+", forgotten", func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{stream: silent}, func(t *testing.T, c *Conn) {
				watchStream(t.Context(), t, c)
				<-time.After(time.Minute - 1)
				if got := c.Stats().Streams; got != 1 {
					t.Errorf("streams before the end of their lifetime = %d, want 1", got)
				}
				<-time.After(1)
				synctest.Wait()
				wantIdle(t, c)
			})
		})
	}
}
