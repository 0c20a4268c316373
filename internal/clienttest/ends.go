package clienttest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func contextWinsInQueue(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1, Wait: time.Second}, Handle: w.handle})
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	cause := errors.New("the customer has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
	began := time.Now()
	wantError(t, cause)(c.Call(ctx))
	wantElapsed(t, began, 30*time.Millisecond)
	wantLoad(t, c, 1, 0)
	group.Wait()
}

func contextWinsInFlight(t *testing.T, s Subject) {
	w := work{takes: time.Minute}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1}, Handle: w.handle})
	cause := errors.New("the customer has left")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
	began := time.Now()
	wantError(t, cause)(c.Call(ctx))
	wantElapsed(t, began, 30*time.Millisecond)
	wantLoad(t, c, 0, 0)
}

func shorterDeadlineWins(t *testing.T, s Subject) {
	plan := capacity.Plan{InFlight: 1, Deadline: 200 * time.Millisecond, Attempt: 150 * time.Millisecond, Attempts: capacity.NoRetry}
	for _, tt := range []struct{ caller, want time.Duration }{
		{50 * time.Millisecond, 50 * time.Millisecond},
		{time.Hour, 150 * time.Millisecond},
	} {
		w := work{takes: time.Minute}
		c := s.Open(t, Setup{Plan: plan, Handle: w.handle})
		ctx, cancel := context.WithTimeout(t.Context(), tt.caller)
		began := time.Now()
		wantError(t, context.DeadlineExceeded)(c.Call(ctx))
		wantElapsed(t, began, tt.want)
		wantLoad(t, c, 0, 0)
		cancel()
		if err := c.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	}
}

func sendsNothingWithoutTime(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1}, Handle: w.handle})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, context.Canceled)(c.Call(ctx))
	if got := w.begun.Load(); got != 0 {
		t.Errorf("calls begun = %d, want 0", got)
	}
	wantLoad(t, c, 0, 0)
}

func placeBackAfterError(t *testing.T, s Subject) {
	c := s.Open(t, Setup{
		Plan:   capacity.Plan{InFlight: 1, Queue: capacity.NoQueue},
		Handle: func(context.Context) error { return errors.New("no such order") },
	})
	for range 3 {
		if err := c.Call(t.Context()); err == nil || errors.Is(err, offtake.ErrBusy) {
			t.Errorf("Call() = %v, want the upstream's error", err)
		}
		wantLoad(t, c, 0, 0)
	}
}

func placeBackAfterPanic(t *testing.T, s Subject) {
	w := work{takes: time.Millisecond}
	ripe := true
	c := s.Open(t, Setup{
		Plan:   capacity.Plan{InFlight: 1, Queue: capacity.NoQueue},
		Handle: w.handle,
		Before: func() {
			if ripe {
				panic("a mistake of the user's")
			}
		},
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Call() with a panic in Before returned, want the panic")
			}
		}()
		_ = c.Call(t.Context())
	}()
	wantLoad(t, c, 0, 0)
	ripe = false
	wantNil(t)(c.Call(t.Context()))
}

func shutdownWaits(t *testing.T, s Subject) {
	w := work{takes: 100 * time.Millisecond}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1, Wait: time.Second}, Handle: w.handle})
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	start(&group, c, wantNil(t))
	began := time.Now()
	group.Go(func() {
		if err := c.Shutdown(context.Background()); err != nil {
			t.Errorf("Shutdown() = %v, want nil", err)
		}
		wantElapsed(t, began, 200*time.Millisecond)
	})
	synctest.Wait()
	wantError(t, offtake.ErrClosed)(c.Call(t.Context()))
	group.Wait()
}

func shutdownObeysContext(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1}, Handle: w.handle})
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := c.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown() = %v, want %v", err, context.DeadlineExceeded)
	}
	wantElapsed(t, began, 50*time.Millisecond)
	group.Wait()
}

func closeRefusesQueued(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1, Wait: time.Second}, Handle: w.handle})
	var group sync.WaitGroup
	start(&group, c, func(error) {}) // may end with the connection
	start(&group, c, wantError(t, offtake.ErrClosed))
	wantLoad(t, c, 1, 1)
	if err := c.Close(); err != nil {
		t.Errorf("Close() = %v, want nil", err)
	}
	wantError(t, offtake.ErrClosed)(c.Call(t.Context()))
	group.Wait()
	wantLoad(t, c, 0, 0)
}

func closesTwice(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1}, Handle: w.handle})
	for range 2 {
		if err := c.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	}
}
