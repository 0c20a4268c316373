package grpcclient

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// hole is a connection that, once black, swallows what is written and says nothing.
type hole struct {
	net.Conn
	black *atomic.Bool
}

func (h *hole) Write(p []byte) (int, error) {
	if h.black.Load() {
		return len(p), nil
	}
	return h.Conn.Write(p)
}

func TestABlackHoleIsLeftBeforeKeepaliveNoticesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, nil)
		var black atomic.Bool
		o := f.options()
		o.Dial = func(ctx context.Context, address string) (net.Conn, error) {
			if address == "server-0" && black.Load() {
				return stuck(ctx, address)
			}
			c, err := f.dial(ctx, address)
			if err == nil && address == "server-0" {
				c = &hole{c, &black}
			}
			return c, err
		}
		c := dial(t, fleetName, perServer(2, 1), o)
		warm(t, c)
		for range 4 {
			if err := ask(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		black.Store(true)
		lost := 0
		for range 60 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if ask(ctx, c) != nil {
				lost++
			}
			cancel()
		}
		if lost > 3 {
			t.Errorf("calls lost to a black hole, one after the other = %d of 60, want at most 3", lost)
		}
	})
}

func TestCallersThatLeaveMakeNoLinkSuspect(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1}, nil, &upstream{call: slow(time.Minute)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Millisecond, cancel)
			wantCode(t, ask(ctx, c), codes.Canceled, InServer)
		}
		if c.core.readyLinks()[0].suspect.Load() {
			t.Error("a link whose calls were canceled soon is suspected, want no suspicion")
		}
	})
}

func TestALinkThatAnswersOthersIsNotSuspect(t *testing.T) {
	u := &upstream{call: func(ctx context.Context, body []byte) ([]byte, error) {
		if len(body) == 0 {
			return slow(time.Minute)(ctx, body)
		}
		return body, nil
	}}
	plan := capacity.Plan{InFlight: 2, Deadline: time.Second, Attempts: capacity.NoRetry}
	bubble(t, plan, nil, u, func(t *testing.T, c *Conn) {
		warm(t, c)
		for range 3 {
			time.AfterFunc(time.Millisecond, func() { wantNil(t)(ask(context.Background(), c)) })
			wantCode(t, c.Invoke(t.Context(), methodCall, wrapperspb.Bytes(nil), new(wrapperspb.BytesValue)), codes.DeadlineExceeded, InServer)
		}
		if c.core.readyLinks()[0].suspect.Load() {
			t.Error("a link whose slow calls ran out of time is suspected, want no suspicion: it answered others")
		}
	})
}

func TestALinkThatIsHeardOfAgainIsUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		c := dial(t, fleetName, perServer(1, 1), f.options())
		warm(t, c)
		f.servers["server-0"].Close() // nobody can be dialed in its place
		synctest.Wait()               // the server has acknowledged our SETTINGS
		l := c.core.readyLinks()[0]
		for range 2 {
			l.silent(l.reads.Load())
		}
		if !l.suspect.Load() {
			t.Error("a link with two calls out of time and nothing in between is not suspected")
		}
		synctest.Wait()
		if err := ask(t.Context(), c); err != nil || l.suspect.Load() {
			t.Errorf("call = %v, still suspected: %v, want nil, and no suspicion", err, l.suspect.Load())
		}
		<-time.After(time.Minute)
		if got := f.dialed(); got != 2 {
			t.Errorf("dials a minute later = %d, want the first, and the one in its place that failed", got)
		}
	})
}

func TestABlackHoleThatIsAllThereIsEndsWithKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		serve(t, l, &upstream{}, grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 10 * time.Second, PermitWithoutStream: true}))
		var black atomic.Bool
		dials := 0
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{
			Keepalive: keepalive.ClientParameters{Time: 20 * time.Second, Timeout: 5 * time.Second, PermitWithoutStream: true},
			Dial: func(ctx context.Context, address string) (net.Conn, error) {
				c, err := l.Dial(ctx, "", address)
				if dials++; err == nil && dials == 1 {
					c = &hole{c, &black}
				}
				return c, err
			},
		})
		warm(t, c)
		black.Store(true)
		<-time.After(25*time.Second + reconnectSpread)
		if err := ask(t.Context(), c); err != nil || dials != 2 {
			t.Errorf("call after keepalive's time and timeout = %v with %d dials, want nil with 2", err, dials)
		}
	})
}

func TestABlackHoleThatCanNotBeRedialedAtFirstIsLeftLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		serve(t, l, &upstream{})
		var black atomic.Bool
		down := time.Now().Add(10 * time.Second)
		dials := 0
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1, Deadline: time.Second, Attempts: capacity.NoRetry}, &Options{
			Dial: func(ctx context.Context, address string) (net.Conn, error) {
				if dials++; dials > 1 && time.Now().Before(down) {
					return nil, errors.New("network is unreachable")
				}
				c, err := l.Dial(ctx, "", address)
				if dials == 1 {
					c = &hole{c, &black}
				}
				return c, err
			},
		})
		warm(t, c)
		black.Store(true)
		began := time.Now()
		for ask(t.Context(), c) != nil {
			if time.Since(began) > 15*time.Second {
				t.Fatal("call 5s after the network is back = an error, want nil, and no wait for keepalive")
			}
		}
	})
}

func TestKeepaliveNeverOffendsAServerWithDefaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, slow(20*time.Hour))
		o := f.options()
		o.MaxAge, o.Lifetime = 24*time.Hour, 24*time.Hour
		plan := perServer(1, 2)
		c := dial(t, fleetName, plan, o)
		warm(t, c)
		s, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * defaultKeepalive)
		if dials := f.dialed(); dials != 2 {
			t.Errorf("dials in ten intervals of keepalive = %d, want the first 2 only", dials)
		}
		if err := s.Context().Err(); err != nil {
			t.Errorf("stream = %v, want it open", err)
		}
	})
}
