package grpcclient

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
)

// TestTheErrorSaysWhoEndedACallFirst: at the time of asking the other may have ended
// it as well.
func TestTheErrorSaysWhoEndedACallFirst(t *testing.T) {
	stuck := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
		<-ctx.Done()
		<-time.After(time.Second) // meanwhile the other ends, too
		return ctx.Err()
	}
	o := &Options{DialOptions: []grpc.DialOption{grpc.WithUnaryInterceptor(stuck)}}
	plan := capacity.Plan{InFlight: 1, Attempt: 500 * time.Millisecond, Attempts: capacity.NoRetry}
	why := errors.New("enough")
	t.Run("the client", func(t *testing.T) {
		bubble(t, plan, o, &upstream{}, func(t *testing.T, c *Conn) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(600*time.Millisecond, func() { cancel(why) })
			if err := ask(ctx, c); !isA[*TimeoutError](err) || errors.Is(err, context.Canceled) {
				t.Errorf("call = %v, want a *TimeoutError", err)
			}
		})
	})
	t.Run("the caller", func(t *testing.T) {
		bubble(t, plan, o, &upstream{}, func(t *testing.T, c *Conn) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(400*time.Millisecond, func() { cancel(why) })
			if err := ask(ctx, c); !isA[*ContextError](err) || !errors.Is(err, why) || !errors.Is(err, context.Canceled) {
				t.Errorf("call = %v, want a *ContextError with its cause", err)
			}
		})
	})
	t.Run("the call around it", func(t *testing.T) {
		bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{call: slow(time.Minute)}, func(t *testing.T, inner *Conn) {
			o := &Options{DialOptions: []grpc.DialOption{grpc.WithUnaryInterceptor(func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ grpc.UnaryInvoker, _ ...grpc.CallOption) error {
				err := ask(ctx, inner)
				if !isA[*ContextError](err) {
					t.Errorf("inner call = %v, want a *ContextError: the outer one's bound is its caller's", err)
				}
				return err
			})}}
			outer := piped(t, plan, o, &upstream{})
			if err := ask(t.Context(), outer); !isA[*TimeoutError](err) {
				t.Errorf("outer call = %v, want a *TimeoutError", err)
			}
		})
	})
}

func isA[E error](err error) bool {
	_, ok := err.(E)
	return ok
}

// moody panics in a stream of the user's when it is told to.
type moody struct {
	grpc.ClientStream
	on string
}

func (m *moody) at(where string) {
	if m.on == where {
		panic("a mistake of the user's")
	}
}

func (m *moody) RecvMsg(v any) error { m.at("RecvMsg"); return m.ClientStream.RecvMsg(v) }
func (m *moody) SendMsg(v any) error { m.at("SendMsg"); return m.ClientStream.SendMsg(v) }
func (m *moody) Header() (metadata.MD, error) {
	m.at("Header")
	return m.ClientStream.Header()
}

func TestAStreamThatPanicsGivesItsPlaceBack(t *testing.T) {
	for on, call := range map[string]func(grpc.ClientStream){
		"RecvMsg": func(s grpc.ClientStream) { _ = s.RecvMsg(new(wrapperspb.BytesValue)) },
		"SendMsg": func(s grpc.ClientStream) { _ = s.SendMsg(wrapperspb.Bytes(nil)) },
		"Header":  func(s grpc.ClientStream) { _, _ = s.Header() },
	} {
		t.Run(on, func(t *testing.T) {
			o := &Options{DialOptions: []grpc.DialOption{grpc.WithStreamInterceptor(func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, next grpc.Streamer, options ...grpc.CallOption) (grpc.ClientStream, error) {
				s, err := next(ctx, desc, cc, method, options...)
				return &moody{s, on}, err
			})}}
			var ended int
			bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{stream: func(s grpc.ServerStream) error {
				<-s.Context().Done()
				ended++
				return nil
			}}, func(t *testing.T, c *Conn) {
				s, err := c.NewStream(t.Context(), chatDesc, methodChat)
				if err != nil {
					t.Fatal(err)
				}
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s() has not panicked, want what the user's panicked with", on)
						}
					}()
					call(s)
				}()
				wantIdle(t, c)
				synctest.Wait()
				if ended != 1 {
					t.Errorf("streams ended at the server = %d, want 1", ended)
				}
			})
		})
	}
}

func TestAWarmCallThatPanicsIsAnError(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1}, &Options{
		Warm: func(context.Context, grpc.ClientConnInterface) error { panic("a mistake of the user's") },
	}, &upstream{}, func(t *testing.T, c *Conn) {
		if err := c.Warm(t.Context()); err == nil || !contains(err.Error(), "a mistake of the user's") {
			t.Errorf("Warm() = %v, want an error with what was panicked with", err)
		}
	})
}

func TestADialThatIsNoneFails(t *testing.T) {
	for name, dial := range map[string]func(context.Context, string) (net.Conn, error){
		"panics":          func(context.Context, string) (net.Conn, error) { panic("a mistake of the user's") },
		"returns nothing": func(context.Context, string) (net.Conn, error) { return nil, nil },
	} {
		for _, policy := range []string{"", roundRobin} {
			t.Run(name+" "+policy, func(t *testing.T) {
				bubble(t, capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}, &Options{Dial: dial, ServiceConfig: policy}, &upstream{}, func(t *testing.T, c *Conn) {
					err := ask(t.Context(), c)
					wantCode(t, err, codes.Unavailable, ReasonOf(err))
					if !contains(err.Error(), "Options.Dial") {
						t.Errorf("call = %v, want an error that names Options.Dial", err)
					}
				})
			})
		}
	}
}
