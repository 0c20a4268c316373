package httpclient

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

func TestAnUpstreamThatClosesEverythingIsNotDialedWithoutEnd(t *testing.T) {
	var dials atomic.Int32
	var closing atomic.Bool
	dialed(t, capacity.Plan{InFlight: 10}, nil, slow(0), func(l *pipenet.Listener) dialFunc {
		return func(ctx context.Context, network, address string) (net.Conn, error) {
			dials.Add(1)
			if closing.Load() {
				near, far := net.Pipe()
				far.Close()
				return near, nil
			}
			return l.Dial(ctx, network, address)
		}
	}, func(t *testing.T, c *Client) {
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		dials.Store(0)
		closing.Store(true)
		c.CloseIdleConnections()
		<-time.After(10 * time.Minute)
		if got := dials.Load(); got == 0 || got > 600 {
			t.Errorf("dials in ten minutes = %d, want some, and no more than one a second", got)
		}
	})
}
