package admission

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

// newDoor is a door with a registry of its own.
func newDoor(t *testing.T, plan capacity.Plan, o Options) *Door {
	t.Helper()
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	d, err := New(plan, &o)
	if err != nil {
		t.Fatalf("New(%v) = %v, want nil", plan, err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// take takes a place that must be free.
func take(t *testing.T, d *Door) *Place {
	t.Helper()
	p, err := d.Acquire(t.Context())
	if err != nil {
		t.Fatalf("Acquire() = %v, want nil", err)
	}
	return p
}

func wantInFlight(t *testing.T, d *Door, want int) {
	t.Helper()
	if got := d.Stats().InFlight; got != want {
		t.Errorf("Stats().InFlight = %d, want %d", got, want)
	}
}

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	_, err := New(capacity.Plan{InFlight: -1, Wait: -time.Second}, &Options{Name: "a\xff", Early: 2 * time.Minute})
	if err == nil {
		t.Fatal("New(mistakes) = nil, want an error")
	}
	for _, field := range []string{"Plan.InFlight", "Plan.Wait", "Options.Name", "Options.Early"} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("New(mistakes) = %v, want it to name %s", err, field)
		}
	}
}

func TestTwoDoorsOfOneNameNeedTwoRegistries(t *testing.T) {
	registry := prometheus.NewRegistry()
	plan := capacity.Plan{InFlight: 1}
	first := newDoor(t, plan, Options{Registerer: registry})
	if _, err := New(plan, &Options{Registerer: registry}); err == nil || !strings.Contains(err.Error(), "Options.Name") {
		t.Errorf("New(same name, same registry) = %v, want an error that names Options.Name", err)
	}
	newDoor(t, plan, Options{})
	first.Close()
	newDoor(t, plan, Options{Registerer: registry})
}

func TestAcquireRefusesWhenFull(t *testing.T) {
	d := newDoor(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Options{Name: "orders"})
	place := take(t, d)
	_, err := d.Acquire(t.Context())
	e, ok := errors.AsType[*offtake.Error](err)
	if !ok || !errors.Is(err, offtake.ErrBusy) || e.Upstream != "orders" || e.InFlight != 1 || e.Places != 1 {
		t.Errorf("Acquire(full) = %v, want busy at orders with 1 of 1 in flight", err)
	}
	place.Release()
	place.Release()
	wantInFlight(t, d, 0)
	take(t, d).Release()
}

func TestAcquireReturnsTheCallersCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second}, Options{})
		defer take(t, d).Release()
		left := errors.New("left")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(10*time.Millisecond, func() { cancel(left) })
		if _, err := d.Acquire(ctx); err != left {
			t.Errorf("Acquire(canceled) = %v, want %v", err, left)
		}
	})
}

func TestResizeLetsTheQueueIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second}, Options{})
		defer take(t, d).Release()
		entered := make(chan error)
		go func() {
			place, err := d.Acquire(t.Context())
			if err == nil {
				place.Release()
			}
			entered <- err
		}()
		synctest.Wait()
		if err := d.Resize(capacity.Plan{InFlight: -1}); err == nil {
			t.Error("Resize(mistake) = nil, want an error")
		}
		if got := d.Stats().Places; got != 1 {
			t.Errorf("Places after a mistaken Resize = %d, want 1", got)
		}
		if err := d.Resize(capacity.Plan{InFlight: 2}); err != nil {
			t.Errorf("Resize(2) = %v, want nil", err)
		}
		if err := <-entered; err != nil {
			t.Errorf("Acquire() = %v, want nil", err)
		}
	})
}

func TestObserveModeRefusesNobodyAndCountsThem(t *testing.T) {
	d := newDoor(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Options{Observe: true})
	for range 3 {
		defer take(t, d).Release()
	}
	s := d.Stats()
	if !s.Observing || s.InFlight != 3 || s.Observed["queue_full"] != 2 || s.Refused["queue_full"] != 0 {
		t.Errorf("Stats() = %+v, want 3 in flight, 2 observed, 0 refused", s)
	}
	d.Observe(false)
	if _, err := d.Acquire(t.Context()); !errors.Is(err, offtake.ErrBusy) {
		t.Errorf("Acquire(full) = %v, want busy", err)
	}
}

func TestWhoComesEarlyWaitsForTheDoorToOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 2, Queue: 1}, Options{Early: 2 * time.Second})
		results := make(chan error, 4)
		for range 4 { // 2 places, 1 in the queue, and one too many
			go func() {
				place, err := d.Acquire(t.Context())
				if err == nil {
					time.AfterFunc(time.Millisecond, place.Release)
				}
				results <- err
			}()
			synctest.Wait()
		}
		if err := <-results; !errors.Is(err, offtake.ErrBusy) {
			t.Errorf("the fourth early one = %v, want busy at once", err)
		}
		<-time.After(1500 * time.Millisecond)
		if s := d.Stats(); !s.Shut || s.Queued != 3 || s.InFlight != 0 {
			t.Errorf("Stats() = %+v, want shut with 3 queued", s)
		}
		if err := d.Resize(capacity.Plan{InFlight: 2, Queue: 2}); err != nil {
			t.Fatal(err)
		}
		wantInFlight(t, d, 0) // another plan does not open it
		d.Open()
		d.Open()
		for range 3 {
			if err := <-results; err != nil {
				t.Errorf("an early one = %v, want nil after Open", err)
			}
		}
		<-time.After(2 * time.Millisecond)
		if s := d.Stats(); s.Shut || s.Places != 2 || s.Queue != 2 {
			t.Errorf("Stats() = %+v, want open with 2 places and a queue of 2", s)
		}
	})
}

func TestWhoComesEarlyIsBusyAfterABoundedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1}, Options{Early: 2 * time.Second})
		start := time.Now()
		_, err := d.Acquire(t.Context())
		if got, want := time.Since(start), 2*time.Second; !errors.Is(err, offtake.ErrBusy) || got != want {
			t.Errorf("Acquire(never opened) = %v after %v, want busy after %v", err, got, want)
		}
	})
}

func TestShutdownWaitsForThoseInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1}, Options{})
		time.AfterFunc(3*time.Second, take(t, d).Release)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Shutdown(1s) = %v, want the deadline", err)
		}
		if _, err := d.Acquire(t.Context()); !errors.Is(err, offtake.ErrClosed) {
			t.Errorf("Acquire(draining) = %v, want closed", err)
		}
		start := time.Now()
		if err := d.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown() = %v, want nil", err)
		}
		if got, want := time.Since(start), 2*time.Second; got != want {
			t.Errorf("Shutdown took %v, want %v", got, want)
		}
	})
}

func TestRetryAfterFollowsTheWorkWhereNobodyQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 4, Queue: capacity.NoQueue}, Options{})
		refused := func() time.Duration {
			t.Helper()
			_, err := d.Acquire(t.Context())
			e, ok := errors.AsType[*offtake.Error](err)
			if !ok {
				t.Fatalf("Acquire(full) = %v, want an *offtake.Error", err)
			}
			return e.RetryAfter
		}
		fill := func(hold time.Duration) {
			for range 4 {
				time.AfterFunc(hold, take(t, d).Release)
			}
		}
		fill(20 * time.Second)
		if got := refused(); got != 0 {
			t.Errorf("RetryAfter with nothing known = %v, want 0", got)
		}
		<-time.After(20 * time.Second)
		synctest.Wait()
		fill(10 * time.Minute)
		if got, want := refused(), 5*time.Second; got != want {
			t.Errorf("RetryAfter with 4 places of 20s = %v, want %v", got, want)
		}
		<-time.After(10 * time.Minute)
		synctest.Wait()
		fill(time.Second)
		if got, want := refused(), longestRetryAfter; got != want {
			t.Errorf("RetryAfter with 4 places of 10m = %v, want %v", got, want)
		}
	})
}
