package grpcclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestAFloodOfStreamsDoesNotBlockUnaryCalls(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Wait: 50 * time.Millisecond}
	bubble(t, plan, nil, &upstream{stream: silent}, func(t *testing.T, c *Conn) {
		warm(t, c)
		for range 2 {
			watchStream(t.Context(), t, c)
		}
		began := time.Now()
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueTimeout)
		if !errors.Is(err, offtake.ErrBusy) || time.Since(began) != plan.Wait {
			t.Errorf("a third stream = %v after %v, want busy after %v", err, time.Since(began), plan.Wait)
		}
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("a unary call = %v, want nil", err)
		}
	})
}

func TestAStreamThatFindsNoPlaceTakesNone(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2, Queue: capacity.NoQueue}, nil, &upstream{call: slow(time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() { ask(context.Background(), c) })
		}
		synctest.Wait()
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueFull)
		if got := c.Stats().Streams; got != 0 {
			t.Errorf("streams after a refusal = %d, want 0", got)
		}
		group.Wait()
	})
}

func TestAStreamWaitsOnceForItsTwoPlaces(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Wait: 100 * time.Millisecond}
	bubble(t, plan, nil, &upstream{call: slow(time.Second), stream: ticking(1, 60*time.Millisecond)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		group.Go(func() { drain(watchStream(context.Background(), t, c)) }) // the place for streams comes free
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()
		group.Go(func() { ask(context.Background(), c) }) // and the plan's goes to the one before
		synctest.Wait()
		began := time.Now()
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueTimeout)
		if waited := time.Since(began); waited != plan.Wait {
			t.Errorf("stream waited %v, want Plan.Wait of %v for both", waited, plan.Wait)
		}
		group.Wait()
	})
}

func TestAStreamWaitsNoLongerForAPlaceThanItMayTakeToOpen(t *testing.T) {
	o := &Options{Methods: map[string]Method{methodWatch: {Attempt: 10 * time.Millisecond}}}
	bubble(t, capacity.Plan{InFlight: 1, Wait: 100 * time.Millisecond}, o, &upstream{call: slow(time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		var group sync.WaitGroup
		group.Go(func() { ask(context.Background(), c) })
		synctest.Wait()
		began := time.Now()
		_, err := c.NewStream(t.Context(), watchDesc, methodWatch)
		wantCode(t, err, codes.ResourceExhausted, QueueTimeout)
		if waited := time.Since(began); waited != 10*time.Millisecond {
			t.Errorf("stream waited %v, want the Attempt of 10ms", waited)
		}
		group.Wait()
	})
}

func TestShutdownTurnsAStreamAwayThatWaits(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Wait: time.Minute, Deadline: time.Hour}
	bubble(t, plan, nil, &upstream{stream: ticking(1, time.Second)}, func(t *testing.T, c *Conn) {
		warm(t, c)
		s := watchStream(t.Context(), t, c)
		var group sync.WaitGroup
		began := time.Now()
		group.Go(func() {
			_, err := c.NewStream(context.Background(), watchDesc, methodWatch)
			wantCode(t, err, codes.Unavailable, ClientClosed)
			if waited := time.Since(began); waited != 0 {
				t.Errorf("a stream in the queue was turned away after %v, want at once", waited)
			}
		})
		synctest.Wait()
		group.Go(func() { c.Shutdown(context.Background()) })
		if _, err := drain(s); err != io.EOF {
			t.Errorf("the stream before it = %v, want EOF", err)
		}
		group.Wait()
	})
}

func TestAPanicWhileAStreamOpensGivesItsPlaceBack(t *testing.T) {
	o := &Options{DialOptions: []grpc.DialOption{grpc.WithStreamInterceptor(
		func(context.Context, *grpc.StreamDesc, *grpc.ClientConn, string, grpc.Streamer, ...grpc.CallOption) (grpc.ClientStream, error) {
			panic("a mistake of the user's")
		})}}
	bubble(t, capacity.Plan{InFlight: 1}, o, &upstream{}, func(t *testing.T, c *Conn) {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("NewStream() returned, want the panic")
				}
			}()
			c.NewStream(t.Context(), watchDesc, methodWatch)
		}()
		wantIdle(t, c)
	})
}

func TestShutdownWaitsForStreams(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, &upstream{stream: ticking(5, time.Second)}, func(t *testing.T, c *Conn) {
		s := watchStream(t.Context(), t, c)
		began := time.Now()
		done := make(chan error)
		go func() { done <- c.Shutdown(context.Background()) }()
		if n, err := drain(s); n != 5 || err != io.EOF {
			t.Errorf("stream during Shutdown = %d messages, %v, want 5 and EOF", n, err)
		}
		if err := <-done; err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("Shutdown() = %v after %v, want nil after 5s", err, time.Since(began))
		}
	})
}
