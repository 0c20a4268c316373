package grpcclient

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/offtake-go/offtake/capacity"
)

// dropping ends connections as soon as they are there, while it is set.
type dropping struct {
	on    atomic.Bool
	after time.Duration // if not 0, they are real ones until then
	dials atomic.Int64
}

// dial has the fleet's server behind it.
func (d *dropping) dial(f *fleet) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, address string) (net.Conn, error) {
		d.dials.Add(1)
		if d.on.Load() && d.after == 0 {
			client, server := net.Pipe()
			return client, server.Close()
		}
		conn, err := f.dial(ctx, address)
		if err == nil && d.on.Load() {
			time.AfterFunc(d.after, func() { conn.Close() })
		}
		return conn, err
	}
}

// client sets it, for a client that connects by it.
func (d *dropping) client(t *testing.T, f *fleet, plan capacity.Plan) *Conn {
	d.on.Store(true)
	o := f.options()
	o.Dial = d.dial(f)
	return dial(t, fleetName, plan, o)
}

// fleeting is long enough for a handshake.
const fleeting = 10 * time.Millisecond

// TestAServerThatDropsEveryConnectionIsDialedEverMoreSeldom: each dial of such a
// server succeeds, so that grpc-go's own pauses never grow.
func TestAServerThatDropsEveryConnectionIsDialedEverMoreSeldom(t *testing.T) {
	for _, tt := range []struct {
		name  string
		after time.Duration
	}{{"at once", 0}, {"after the handshake", fleeting}, {"after a second", time.Second}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 1, nil)
				d := dropping{after: tt.after}
				c := d.client(t, f, perServer(1, 4))
				c.core.channels[0].Connect()
				<-time.After(time.Minute)
				before := d.dials.Load()
				<-time.After(10 * time.Minute)
				if got := d.dials.Load() - before; got < 4*600/8 || got > 4*600/4 {
					t.Errorf("dials of 4 connections in ten minutes = %d, want one in 4s to 8s for each", got)
				}
				d.on.Store(false)
				<-time.After(2*dialPauseMost + 2*reconnectSpread)
				if got := c.Stats().Open; got != 4 {
					t.Errorf("connections after the server has come to its senses = %d, want 4", got)
				}
			})
		})
	}
}

func TestOneConnectionThatComesToNothingIsFollowedByAnotherAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		d := dropping{after: fleeting}
		c := d.client(t, f, perServer(1, 1))
		c.core.channels[0].Connect()
		synctest.Wait()
		d.on.Store(false)
		<-time.After(fleeting + reconnectSpread)
		synctest.Wait()
		if got := c.Stats().Open; got != 1 {
			t.Errorf("connections %v after the first was dropped = %d, want 1", reconnectSpread, got)
		}
	})
}

func TestConnectionsThatEndSoonAfterTheirWorkAreReplacedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		var last net.Conn
		o := f.options()
		o.Dial = func(ctx context.Context, address string) (conn net.Conn, err error) {
			conn, err = f.dial(ctx, address)
			last = conn
			return conn, err
		}
		c := dial(t, fleetName, perServer(1, 1), o)
		warm(t, c)
		for range 8 {
			if err := ask(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			last.Close()
			<-time.After(reconnectSpread)
			synctest.Wait()
			if got := c.Stats().Open; got != 1 {
				t.Fatalf("connections %v after one with an answer on it was dropped = %d, want 1", reconnectSpread, got)
			}
		}
	})
}

// TestACallHasALinkThatRestsDialedAtOnce: what looks like a server that drops every
// connection may be one that keeps none without a call on it.
func TestACallHasALinkThatRestsDialedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		d := dropping{after: 2 * time.Second}
		c := d.client(t, f, perServer(1, 1))
		warm(t, c)
		for range 20 {
			<-time.After(time.Minute)
			began := time.Now()
			wantNil(t)(ask(t.Context(), c))
			if took := time.Since(began); took > reconnectSpread {
				t.Errorf("call after a minute without one took %v, want %v at most", took, reconnectSpread)
			}
		}
	})
}

func TestACallWithoutAnAnswerIsNoWorkOfAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, slow(time.Minute))
		d := dropping{after: fleeting}
		c := d.client(t, f, capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry})
		for range 3 {
			wantCode(t, ask(t.Context(), c), codes.Unavailable, "")
		}
		synctest.Wait()
		c.core.pool.mu.Lock()
		defer c.core.pool.mu.Unlock()
		for l := range c.core.pool.linksLocked() {
			if l.vain != 3 {
				t.Errorf("connections in vain after three that took a call and dropped it = %d, want 3", l.vain)
			}
		}
	})
}

func TestALinkThatRestsSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		d := dropping{after: fleeting}
		c := d.client(t, f, perServer(1, 1))
		c.core.channels[0].Connect()
		for range 100 {
			if v := c.core.pool.view(); v.failed == 0 {
				<-v.changed
			}
		}
		if err := c.Warm(t.Context()); err == nil || !contains(err.Error(), errVain.Error()) {
			t.Errorf("Warm() of a server that has dropped two connections = %v, want %q in it", err, errVain)
		}
	})
}

func TestLinksToAServerThatKeepsIdleOnesForSecondsDoNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		d := dropping{after: vainLife}
		c := d.client(t, f, perServer(1, 1))
		c.core.channels[0].Connect()
		<-time.After(10 * time.Minute)
		if got, least := d.dials.Load(), int64(10*time.Minute/(vainLife+reconnectSpread)); got < least {
			t.Errorf("dials in ten minutes = %d, want %d at least: each was there for %v", got, least, vainLife)
		}
	})
}
