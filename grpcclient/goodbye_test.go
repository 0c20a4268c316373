package grpcclient

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// TestARestartInGoodOrderFailsNoCall: the server takes its leave, is away for a moment,
// and is back.
func TestARestartInGoodOrderFailsNoCall(t *testing.T) {
	for _, down := range []time.Duration{0, 20 * time.Millisecond} {
		t.Run(down.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var at atomic.Pointer[pipenet.Listener]
				start := func() *grpc.Server {
					l := pipenet.Listen()
					at.Store(l)
					return serve(t, l, &upstream{call: slow(time.Millisecond)})
				}
				s := start()
				c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 8, Attempts: capacity.NoRetry}, &Options{
					Dial: func(ctx context.Context, address string) (net.Conn, error) {
						if l := at.Load(); l != nil {
							return l.Dial(ctx, "", address)
						}
						return nil, errors.New("connection refused")
					},
				})
				warm(t, c)
				<-time.After(5 * time.Second)
				stop := hammer(c, 8, func(err error) {
					wantNil(t)(err)
					<-time.After(20 * time.Millisecond)
				})
				for range 3 {
					at.Store(nil)
					s.GracefulStop()
					<-time.After(down)
					s = start()
					<-time.After(5 * time.Second)
				}
				stop()
				wantIdle(t, c)
			})
		})
	}
}

// TestAServerThatTakesItsLeaveAfterEachGreetingIsDialedEverMoreSeldom: also while calls
// come all the time.
func TestAServerThatTakesItsLeaveAfterEachGreetingIsDialedEverMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var dials atomic.Int64
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 8, Streams: 8, Deadline: 3 * time.Second}, &Options{
			Dial: func(context.Context, string) (net.Conn, error) {
				dials.Add(1)
				client, server := net.Pipe()
				go io.Copy(io.Discard, server)
				go func() {
					defer server.Close()
					server.Write(settingsFrame)
					server.Write(goAwayFrame)
				}()
				return client, nil
			},
		})
		stop := hammer(c, 4, func(err error) {
			if err == nil {
				t.Error("call of a server that takes none = nil, want an error")
			}
			<-time.After(10 * time.Millisecond)
		})
		<-time.After(10 * time.Second)
		first := dials.Load()
		<-time.After(time.Minute)
		links := int64(c.Stats().Plan.Connections)
		if later := dials.Load() - first; first > 60*links || later > 150*links {
			t.Errorf("dials of %d connections in the first 10s, in the minute after = %d, %d, want at most 60, 150 of each", links, first, later)
		}
		stop()
		wantIdle(t, c)
	})
}
