package grpcclient

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/stats"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
)

// cutter has grpc-go send a call again by itself, and cuts the second connection
// between the header of the call and its message. It sees both as a stats.Handler of
// the user's.
type cutter struct {
	server  net.Conn // of the last connection
	headers int
}

// The frames of a server that takes no call: RFC 9113, sections 6.5 and 6.8.
var (
	settingsFrame = []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}
	goAwayFrame   = []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // no stream was begun
)

func (k *cutter) dial(context.Context, string) (net.Conn, error) {
	client, server := net.Pipe()
	k.server = server
	go io.Copy(io.Discard, server)
	go server.Write(settingsFrame)
	return client, nil
}

func (k *cutter) HandleRPC(_ context.Context, s stats.RPCStats) {
	switch s.(type) {
	case *stats.OutPayload:
		go k.server.Write(goAwayFrame)
	case *stats.OutHeader:
		if k.headers++; k.headers == 2 {
			k.server.Close()
			<-time.After(time.Millisecond) // grpc-go ends the stream meanwhile
		}
	}
}

func (k *cutter) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context   { return ctx }
func (k *cutter) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (k *cutter) HandleConn(context.Context, stats.ConnStats)                       {}

// TestACallThatIsCutOffHasNotEndedWell: to grpc-go 1.85 the second connection's end is
// io.EOF, which for a stream means that all of it was read.
func TestACallThatIsCutOffHasNotEndedWell(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, c *Conn) error{
		"unary": func(t *testing.T, c *Conn) error { return ask(t.Context(), c) },
		"server stream": func(t *testing.T, c *Conn) error {
			return watchStream(t.Context(), t, c).RecvMsg(new(wrapperspb.BytesValue))
		},
		"client stream": func(t *testing.T, c *Conn) error {
			s, err := c.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, methodChat)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.SendMsg(wrapperspb.Bytes(nil)), s.CloseSend()); err != nil {
				t.Fatal(err)
			}
			return s.RecvMsg(new(wrapperspb.BytesValue))
		},
	} {
		for policy, config := range map[string]string{"ours": "", "of the user's": roundRobin} {
			if name == "server stream" && config != "" {
				continue // nobody can tell it from an empty one
			}
			t.Run(name+", policy "+policy, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var k cutter
					o := &Options{Dial: k.dial, ServiceConfig: config, DialOptions: []grpc.DialOption{grpc.WithStatsHandler(&k)}}
					c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}, o)
					warm(t, c)
					wantCode(t, call(t, c), codes.Unavailable, "")
					if k.headers != 2 {
						t.Errorf("headers sent = %d, want 2", k.headers)
					}
					wantIdle(t, c)
				})
			})
		}
	}
}

func TestAnEmptyStreamEndsWell(t *testing.T) {
	for policy, config := range map[string]string{"ours": "", "of the user's": roundRobin} {
		t.Run("policy "+policy, func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1}, &Options{ServiceConfig: config}, &upstream{}, func(t *testing.T, c *Conn) {
				if n, err := drain(watchStream(t.Context(), t, c)); n != 0 || err != io.EOF {
					t.Errorf("stream = %d messages, %v, want 0, EOF", n, err)
				}
			})
		})
	}
}
