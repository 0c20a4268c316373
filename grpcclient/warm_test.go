package grpcclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestWarmWaitsForAllConnectionsAndNotForTheFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 4, nil)
		for i := range 4 {
			f.delay[fmt.Sprintf("server-%d", i)] = time.Duration(i) * 200 * time.Millisecond
		}
		c := dial(t, fleetName, perServer(4, 2), f.options())
		began := time.Now()
		time.AfterFunc(10*time.Millisecond, func() {
			if got := c.core.channels[0].GetState(); got != connectivity.Ready || c.Stats().Open != 2 {
				t.Errorf("state after 10ms = %v with %d connections, want READY with 2: that is why Warm does not ask it", got, c.Stats().Open)
			}
		})
		warm(t, c)
		if got := time.Since(began); got != 600*time.Millisecond {
			t.Errorf("Warm took %v, want 600ms", got)
		}
		if got := c.Stats().Open; got != 8 {
			t.Errorf("connections after Warm = %d, want 8", got)
		}
	})
}

func TestWarmNamesWhatIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 4, nil)
		f.servers["server-2"].Close()
		plan := perServer(4, 1)
		c := dial(t, fleetName, plan, f.options())
		err := c.Warm(t.Context())
		w, ok := errors.AsType[*WarmError](err)
		if !ok || w.Want != 4 || w.Got != 3 {
			t.Fatalf("Warm() = %v, want a WarmError with 3 of 4", err)
		}
		if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
			t.Errorf("Warm() = %v, want the dial's own error in it", err)
		}
		plan.Warm = 3
		if err := c.Resize(plan); err != nil {
			t.Fatal(err)
		}
		if err := c.Warm(t.Context()); err != nil {
			t.Errorf("Warm() with Plan.Warm 3 = %v, want nil", err)
		}
	})
}

func TestWarmSaysThatNothingIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0, nil)
		c := dial(t, fleetName, perServer(1, 1), f.options())
		if err := c.Warm(t.Context()); !errors.Is(err, errNoAddresses) {
			t.Errorf("Warm() without addresses = %v, want %v", err, errNoAddresses)
		}
	})
}

func TestWarmEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, nil)
		f.delay["server-0"] = time.Second
		c := dial(t, fleetName, perServer(1, 1), f.options())
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := c.Warm(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Warm() = %v, want %v", err, context.DeadlineExceeded)
		}
		if err := c.Warm(t.Context()); err != nil {
			t.Errorf("a second Warm() = %v, want nil", err)
		}
	})
}

func TestWarmCallsGoOutOnEachConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, nil)
		o := f.options()
		o.Warm = func(ctx context.Context, conn grpc.ClientConnInterface) error { return ask(ctx, conn) }
		c := dial(t, fleetName, perServer(3, 1), o)
		warm(t, c)
		for address, n := range f.served {
			if got := n.Load(); got != warmRounds {
				t.Errorf("warm calls to %s = %d, want %d", address, got, warmRounds)
			}
		}
		wantIdle(t, c)
	})
}

func TestWarmWaitsForEachOfMoreAddressesThanThePlanHasConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, nil)
		f.delay["server-2"] = 300 * time.Millisecond
		c := dial(t, fleetName, capacity.Plan{InFlight: 1}, f.options())
		began := time.Now()
		warm(t, c)
		if open, took := c.Stats().Open, time.Since(began); open != 3 || took != 300*time.Millisecond {
			t.Errorf("after Warm: %d connections in %v, want 3 in 300ms", open, took)
		}
	})
}

func TestAClosedClientIsNotWarmAndNobodyWaitsForIt(t *testing.T) {
	for name, config := range map[string]string{"our policy": "", "round_robin": roundRobin} {
		t.Run(name, func(t *testing.T) {
			bubble(t, capacity.Plan{InFlight: 1}, &Options{ServiceConfig: config}, &upstream{}, func(t *testing.T, c *Conn) {
				warm(t, c)
				c.Close()
				wantClosed(t, c, 0)
				if got := c.Stats().Open; got != 0 {
					t.Errorf("connections of a closed client = %d, want 0", got)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{ServiceConfig: config, Dial: stuck})
				time.AfterFunc(time.Second, func() { c.Close() })
				wantClosed(t, c, time.Second)
			})
		})
	}
	t.Run("during its warm calls", func(t *testing.T) {
		o := &Options{Warm: func(ctx context.Context, conn grpc.ClientConnInterface) error { return ask(ctx, conn) }}
		bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{call: slow(time.Minute)}, func(t *testing.T, c *Conn) {
			time.AfterFunc(time.Second, func() { c.Close() })
			wantClosed(t, c, time.Second)
		})
	})
}

// wantClosed has Warm say so after a time, with nothing else to end it.
func wantClosed(t *testing.T, c *Conn, after time.Duration) {
	t.Helper()
	began := time.Now()
	err := c.Warm(t.Context())
	if w, ok := errors.AsType[*WarmError](err); !ok || !errors.Is(w, offtake.ErrClosed) || time.Since(began) != after {
		t.Errorf("Warm() = %v after %v, want a WarmError with offtake.ErrClosed after %v", err, time.Since(began), after)
	}
}

func TestAFailedWarmCallIsAnError(t *testing.T) {
	wrong := errors.New("no such table")
	o := &Options{Warm: func(context.Context, grpc.ClientConnInterface) error { return wrong }}
	bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{}, func(t *testing.T, c *Conn) {
		if err := c.Warm(t.Context()); !errors.Is(err, wrong) {
			t.Errorf("Warm() = %v, want %v", err, wrong)
		}
	})
}

func TestWarmRefusesAPlanThatTheServerDoesNotAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := piped(t, capacity.Plan{InFlight: 200, Streams: 50}, nil, &upstream{}, grpc.MaxConcurrentStreams(10))
		err := c.Warm(t.Context())
		if w, ok := errors.AsType[*WarmError](err); !ok || w.Got != 4 {
			t.Fatalf("Warm() = %v, want a WarmError with 4 connections", err)
		}
		if got, want := err.Error(), "200 places do not fit on 4 connections: the upstream allows 40 streams on them; 20 connections would do"; !contains(got, want) {
			t.Errorf("Warm() = %q, want %q in it", got, want)
		}
		if got := c.Stats().Places; got != 40 {
			t.Errorf("places = %d, want 40", got)
		}
	})
}

func TestTLSToAServerThatHasNoneSaysWhatWouldDo(t *testing.T) {
	err := &dialError{address: "orders:9000", tls: true, err: tls.RecordHeaderError{Msg: "no handshake"}}
	const want = "orders:9000: TLS handshake: tls: no handshake; if the server has no TLS, Options.Credentials of insecure.NewCredentials() would do"
	if got := err.Error(); got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestWarmNamesWhatIsWrongNowAndNotWhatWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{Dial: func(context.Context, string) (net.Conn, error) {
			if dials++; dials == 1 {
				return nil, errors.New("no route to host")
			}
			client, server := net.Pipe()
			return client, server.Close()
		}})
		if err := c.Warm(t.Context()); err == nil || !contains(err.Error(), "no route to host") {
			t.Errorf("Warm() = %v, want the dial's error", err)
		}
		<-time.After(2 * dialPauseMost)
		if err := c.Warm(t.Context()); err == nil || contains(err.Error(), "no route to host") {
			t.Errorf("Warm() of a server that drops connections, %d dials = %v, want another error", dials, err)
		}
	})
}
