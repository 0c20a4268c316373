package clienttest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

// work serves calls in a fixed time, and counts those it has begun.
type work struct {
	takes time.Duration
	begun atomic.Int64
}

func (w *work) handle(ctx context.Context) error {
	w.begun.Add(1)
	select {
	case <-time.After(w.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start makes a call on a goroutine of its own, and waits until it waits.
func start(group *sync.WaitGroup, c Client, done func(error)) {
	group.Go(func() { done(c.Call(context.Background())) })
	synctest.Wait()
}

func wantNil(t *testing.T) func(error) {
	return func(err error) {
		if err != nil {
			t.Errorf("Call() = %v, want nil", err)
		}
	}
}

func wantError(t *testing.T, want error) func(error) {
	return func(err error) {
		if !errors.Is(err, want) {
			t.Errorf("Call() = %v, want %v", err, want)
		}
	}
}

func wantLoad(t *testing.T, c Client, inFlight, queued int) {
	t.Helper()
	if i, q := c.Load(); i != inFlight || q != queued {
		t.Errorf("Load() = %d in flight, %d queued, want %d, %d", i, q, inFlight, queued)
	}
}

func wantElapsed(t *testing.T, began time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(began); got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}

func refusesWhenFull(t *testing.T, s Subject) {
	w := work{takes: 50 * time.Millisecond}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 2, Queue: 1}, Handle: w.handle})
	var group sync.WaitGroup
	for range 3 {
		start(&group, c, wantNil(t))
	}
	wantLoad(t, c, 2, 1)
	began := time.Now()
	err := c.Call(t.Context())
	wantError(t, offtake.ErrBusy)(err)
	wantElapsed(t, began, 0)
	if e, ok := errors.AsType[*offtake.Error](err); !ok || e.InFlight != 2 || e.Places != 2 || e.Queued != 1 {
		t.Errorf("Call() = %#v, want an *offtake.Error with 2 of 2 places taken and 1 queued", err)
	}
	group.Wait()
	wantLoad(t, c, 0, 0)
}

func refusesWithoutQueue(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Handle: w.handle})
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	began := time.Now()
	wantError(t, offtake.ErrBusy)(c.Call(t.Context()))
	wantElapsed(t, began, 0)
	group.Wait()
}

func refusesAfterWait(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1, Wait: 70 * time.Millisecond}, Handle: w.handle})
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	began := time.Now()
	err := c.Call(t.Context())
	wantError(t, offtake.ErrBusy)(err)
	wantElapsed(t, began, 70*time.Millisecond)
	if e, ok := errors.AsType[*offtake.Error](err); !ok || e.Waited != 70*time.Millisecond {
		t.Errorf("Call() = %#v, want an *offtake.Error that waited 70ms", err)
	}
	group.Wait()
}

func sendsNothingWhenRefused(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	var sent atomic.Int64
	c := s.Open(t, Setup{
		Plan:   capacity.Plan{InFlight: 1, Queue: capacity.NoQueue},
		Handle: w.handle,
		Before: func() { sent.Add(1) },
	})
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	for range 5 {
		wantError(t, offtake.ErrBusy)(c.Call(t.Context()))
	}
	group.Wait()
	if got, begun := sent.Load(), w.begun.Load(); got != 1 || begun != 1 {
		t.Errorf("attempts sent, begun = %d, %d, want 1, 1", got, begun)
	}
}

func servesInOrder(t *testing.T, s Subject) {
	const callers = 8
	w := work{takes: 10 * time.Millisecond}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1, Queue: callers, Wait: time.Second}, Handle: w.handle})
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		order []int
	)
	for i := range callers {
		start(&group, c, func(err error) {
			wantNil(t)(err)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, i)
		})
	}
	group.Wait()
	if !slices.IsSorted(order) || len(order) != callers {
		t.Errorf("served in the order %v, want first come first", order)
	}
}

func resizeHandsOn(t *testing.T, s Subject) {
	plan := capacity.Plan{InFlight: 1, Wait: time.Second}
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: plan, Handle: w.handle})
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	start(&group, c, wantNil(t))
	wantLoad(t, c, 1, 1)
	plan.InFlight = 2
	if err := c.Resize(plan); err != nil {
		t.Errorf("Resize(%v) = %v, want nil", plan, err)
	}
	synctest.Wait()
	wantLoad(t, c, 2, 0)
	group.Wait()
}

func resizeRefusesMistakes(t *testing.T, s Subject) {
	w := work{takes: time.Second}
	c := s.Open(t, Setup{Plan: capacity.Plan{InFlight: 1}, Handle: w.handle})
	if err := c.Resize(capacity.Plan{InFlight: -1}); err == nil {
		t.Error("Resize(-1 places) = nil, want a mistake")
	}
	var group sync.WaitGroup
	start(&group, c, wantNil(t))
	wantLoad(t, c, 1, 0)
	group.Wait()
}
