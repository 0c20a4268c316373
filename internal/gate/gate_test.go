package gate

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake"
)

func TestServesTheQueueInTheOrderOfArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 10, Wait: time.Minute})
		enter(t, g)
		var order []int
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				enter(t, g)
				order = append(order, i)
				g.Leave()
			})
			synctest.Wait()
		}
		g.Leave()
		wg.Wait()
		if want := []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}; !slices.Equal(order, want) {
			t.Errorf("order of service = %v, want %v", order, want)
		}
	})
}

func TestNewcomersDoNotOvertakeTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 1, Wait: time.Minute})
		enter(t, g)
		go func() { enter(t, g) }()
		synctest.Wait()
		if g.TryEnter() {
			t.Error("TryEnter() with a waiter = true, want false")
		}
		g.Leave()
		synctest.Wait()
		if g.TryEnter() {
			t.Error("TryEnter() after the hand-over = true, want false")
		}
		g.Leave()
		if !g.TryEnter() {
			t.Error("TryEnter() on a free gate = false, want true")
		}
	})
}

func TestRefusesWhenTheQueueIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 1, Wait: time.Minute})
		enter(t, g)
		ctx, cancel := context.WithCancel(t.Context())
		go g.Enter(ctx)
		synctest.Wait()
		waited, err := g.Enter(t.Context())
		wantRefusal(t, err, QueueFull)
		if waited != 0 {
			t.Errorf("waited = %v, want 0s", waited)
		}
		if !errors.Is(err, offtake.ErrBusy) {
			t.Errorf("errors.Is(%v, ErrBusy) = false, want true", err)
		}
		cancel()
	})
}

func TestRefusesAtOnceWithoutAQueueOrAWait(t *testing.T) {
	for _, l := range []Limits{{Places: 1, Wait: time.Minute}, {Places: 1, Queue: 3}} {
		g := New(l)
		enter(t, g)
		_, err := g.Enter(t.Context())
		wantRefusal(t, err, QueueFull)
	}
}

func TestRefusesAfterTheLongestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 1, Wait: 100 * time.Millisecond})
		enter(t, g)
		waited, err := g.Enter(t.Context())
		wantRefusal(t, err, Waited)
		if want := 100 * time.Millisecond; waited != want {
			t.Errorf("waited = %v, want %v", waited, want)
		}
		if got := g.Snapshot().Waiting; got != 0 {
			t.Errorf("Waiting = %d, want 0", got)
		}
	})
}

func TestACallsOwnDeadlineEndsItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 1, Wait: time.Minute})
		enter(t, g)
		waited, err := g.EnterBy(t.Context(), time.Now().Add(70*time.Millisecond))
		wantRefusal(t, err, Waited)
		if want := 70 * time.Millisecond; waited != want {
			t.Errorf("waited = %v, want %v", waited, want)
		}
	})
}

func TestTheContextWins(t *testing.T) {
	cause := errors.New("caller left")
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 1, Wait: time.Minute})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		if _, err := g.Enter(ctx); err != cause {
			t.Errorf("Enter(cancelled) on a free gate = %v, want %v", err, cause)
		}
		enter(t, g)
		ctx, cancel = context.WithCancelCause(t.Context())
		time.AfterFunc(30*time.Millisecond, func() { cancel(cause) })
		waited, err := g.Enter(ctx)
		if err != cause || waited != 30*time.Millisecond {
			t.Errorf("Enter(cancelled in the queue) = %v, %v, want 30ms, %v", waited, err, cause)
		}
	})
}

func TestAPlaceGrantedToACancelledCallerGoesToTheNext(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			g := New(Limits{Places: 1, Queue: 2, Wait: time.Minute})
			enter(t, g)
			ctx, cancel := context.WithCancel(t.Context())
			first := make(chan error, 1)
			go func() {
				_, err := g.Enter(ctx)
				first <- err
			}()
			synctest.Wait()
			second := make(chan error, 1)
			go func() {
				_, err := g.Enter(t.Context())
				second <- err
			}()
			synctest.Wait()
			go cancel()
			g.Leave()
			if err := <-first; err == nil {
				g.Leave()
			}
			if err := <-second; err != nil {
				t.Fatalf("Enter of the next = %v, want nil", err)
			}
			if got := g.Snapshot().InFlight; got != 1 {
				t.Fatalf("InFlight = %d, want 1", got)
			}
		})
	}
}

// left is a context that ends just when its waiter has been woken by a place: Err
// says so, and Done comes too late.
type left struct{ context.Context }

func (left) Done() <-chan struct{} { return make(chan struct{}) }
func (left) Err() error            { return context.Canceled }

func TestAPlaceIsNeverHandedToTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 2, Wait: time.Minute})
		enter(t, g)
		dead := make(chan error, 1)
		go func() {
			_, err := g.Enter(left{t.Context()})
			dead <- err
		}()
		synctest.Wait()
		go enter(t, g)
		synctest.Wait()
		g.Leave()
		if err := <-dead; err != context.Canceled {
			t.Errorf("Enter of who left = %v, want %v", err, context.Canceled)
		}
		synctest.Wait()
		wantInside(t, g, 1, 0)
		if got := g.Snapshot().Entered; got != 2 {
			t.Errorf("Entered = %d, want 2", got)
		}
	})
}

func TestAnEstimateForALongQueueIsBounded(t *testing.T) {
	d := drainRate{span: time.Hour, count: drainTrust}
	wait, known := d.expect(1_000_000, d.last.Add(100*24*time.Hour))
	if wait != longestEstimate || !known {
		t.Errorf("expect(1000000) after 100 days = %v, %v, want %v, true", wait, known, longestEstimate)
	}
}

func TestRefusesEarlyWhoCouldNotBeServedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 100, Wait: time.Minute})
		enter(t, g)
		for range 30 { // one place, 10 ms each: the k-th in the queue waits k*10 ms
			go func() {
				enter(t, g)
				<-time.After(10 * time.Millisecond)
				g.Leave()
			}()
		}
		synctest.Wait()
		<-time.After(10 * time.Millisecond)
		g.Leave()
		<-time.After(95 * time.Millisecond)
		synctest.Wait()

		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		start := time.Now()
		_, err := g.Enter(ctx)
		wantRefusal(t, err, Late)
		if d := time.Since(start); d != 0 {
			t.Errorf("refused after %v, want at once", d)
		}
		e := g.Explain("processor", 0, err.(*Refusal))
		if e.RetryAfter < 190*time.Millisecond || e.RetryAfter > 230*time.Millisecond {
			t.Errorf("RetryAfter with 20 waiting at 10 ms = %v, want about 210ms", e.RetryAfter)
		}

		ctx, cancel = context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := g.Enter(ctx); err != nil {
			t.Errorf("Enter with time enough = %v, want nil", err)
		}
	})
}

func TestASlowHourDoesNotLockTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 100, Wait: time.Hour})
		enter(t, g)
		for range 20 {
			go func() {
				enter(t, g)
				<-time.After(time.Minute)
				g.Leave()
			}()
		}
		synctest.Wait()
		g.Leave()
		<-time.After(time.Hour)
		synctest.Wait()
		enter(t, g)
		time.AfterFunc(time.Millisecond, g.Leave)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if waited, err := g.Enter(ctx); err != nil || waited != time.Millisecond {
			t.Errorf("Enter after the slow hour = %v, %v, want 1ms, nil", waited, err)
		}
	})
}

func TestResizeUpServesWaitersAndDownWaitsForLeavers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Limits{Places: 1, Queue: 5, Wait: time.Minute}
		g := New(l)
		enter(t, g)
		for range 3 {
			go enter(t, g)
		}
		synctest.Wait()
		l.Places = 3
		g.Resize(l)
		synctest.Wait()
		wantInside(t, g, 3, 1)

		l.Places, l.Queue = 1, 0
		g.Resize(l)
		g.Leave()
		synctest.Wait()
		wantInside(t, g, 2, 1)
		g.Leave()
		g.Leave()
		synctest.Wait()
		wantInside(t, g, 1, 0)
	})
}

func TestWithoutPlacesAllWaitForAResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Queue: 3, Wait: time.Second})
		for range 3 {
			go g.Enter(t.Context())
		}
		synctest.Wait()
		wantInside(t, g, 0, 3)
		_, err := g.Enter(t.Context())
		wantRefusal(t, err, QueueFull)
		g.Resize(Limits{Places: 2, Queue: 3, Wait: time.Second})
		synctest.Wait()
		wantInside(t, g, 2, 1)
		waited, err := g.Enter(t.Context())
		wantRefusal(t, err, Waited)
		if waited != time.Second {
			t.Errorf("waited = %v, want 1s", waited)
		}
	})
}

func TestObserveModeCountsAndDoesNotRefuse(t *testing.T) {
	g := New(Limits{Places: 2, Queue: 1, Wait: time.Second})
	g.Observe(true)
	for range 5 {
		enter(t, g)
	}
	s := g.Snapshot()
	if s.InFlight != 5 || s.Observed[QueueFull] != 2 || s.Refused[QueueFull] != 0 {
		t.Errorf("in flight, observed, refused = %d, %d, %d, want 5, 2, 0", s.InFlight, s.Observed[QueueFull], s.Refused[QueueFull])
	}
	g.Observe(false)
	g.Resize(Limits{Places: 2})
	_, err := g.Enter(t.Context())
	wantRefusal(t, err, QueueFull)
}

func TestSwitchingToObserveFreesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 2, Wait: time.Minute})
		enter(t, g)
		go enter(t, g)
		synctest.Wait()
		g.Observe(true)
		synctest.Wait()
		wantInside(t, g, 2, 0)
	})
}

func TestDrainWaitsForAllInsideAndQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 1, Wait: time.Minute})
		enter(t, g)
		go func() {
			enter(t, g)
			<-time.After(time.Second)
			g.Leave()
		}()
		synctest.Wait()
		time.AfterFunc(time.Second, g.Leave)

		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if err := g.Drain(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Drain(500ms) = %v, want the deadline", err)
		}
		_, err := g.Enter(t.Context())
		wantRefusal(t, err, Closed)
		if !errors.Is(err, offtake.ErrClosed) {
			t.Errorf("errors.Is(%v, ErrClosed) = false, want true", err)
		}
		start := time.Now()
		if err := g.Drain(t.Context()); err != nil {
			t.Errorf("Drain() = %v, want nil", err)
		}
		if got, want := time.Since(start), 1500*time.Millisecond; got != want {
			t.Errorf("Drain took %v, want %v", got, want)
		}
	})
}

func TestCloseRefusesTheQueueAndLetsThoseInsideFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Places: 1, Queue: 1, Wait: time.Minute})
		enter(t, g)
		done := make(chan error)
		go func() {
			_, err := g.Enter(t.Context())
			done <- err
		}()
		synctest.Wait()
		g.Close()
		wantRefusal(t, <-done, Closed)
		g.Leave()
		wantInside(t, g, 0, 0)
	})
}

func TestLeaveWithoutEnterPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Leave() on an empty gate did not panic")
		}
	}()
	New(Limits{Places: 1}).Leave()
}

func TestTwentyThousandCancelledWaitersRetainNothing(t *testing.T) {
	const waiters = 20_000
	g := New(Limits{Places: 1, Queue: waiters + 1, Wait: time.Hour})
	enter(t, g)
	front := make(chan error)
	go func() {
		_, err := g.Enter(context.Background())
		front <- err
	}()
	for g.Snapshot().Waiting < 1 {
		runtime.Gosched()
	}
	crowd := func() {
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range waiters {
			wg.Go(func() { g.Enter(ctx) })
		}
		for g.Snapshot().Waiting < waiters+1 {
			runtime.Gosched()
		}
		cancel()
		wg.Wait()
	}
	crowd() // the runtime keeps what it needs for so many goroutines
	before := heap()
	crowd()
	if got := g.Snapshot().Waiting; got != 1 {
		t.Errorf("Waiting = %d, want 1", got)
	}
	if got, want := heap()-before, int64(waiters*16); got > want {
		t.Errorf("retained %d bytes for %d cancelled waiters, want at most %d", got, waiters, want)
	}
	g.Leave()
	if err := <-front; err != nil {
		t.Errorf("Enter of the first = %v, want nil", err)
	}
}

func TestNothingOnTheHotPathAllocates(t *testing.T) {
	ctx := t.Context()
	g := New(Limits{Places: 1, Wait: time.Second})
	if got := testing.AllocsPerRun(100, func() { g.Enter(ctx); g.Leave() }); got != 0 {
		t.Errorf("Enter and Leave = %v allocs, want 0", got)
	}
	enter(t, g)
	if got := testing.AllocsPerRun(100, func() { g.Enter(ctx) }); got != 0 {
		t.Errorf("a refusal = %v allocs, want 0", got)
	}
}

// heap is the live heap after garbage collection; sync.Pool keeps a victim for
// one cycle more.
func heap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func enter(t *testing.T, g *Gate) {
	t.Helper()
	if _, err := g.Enter(t.Context()); err != nil {
		t.Errorf("Enter() = %v, want nil", err)
	}
}

func wantInside(t *testing.T, g *Gate, inFlight, waiting int) {
	t.Helper()
	if s := g.Snapshot(); s.InFlight != inFlight || s.Waiting != waiting {
		t.Errorf("in flight, waiting = %d, %d, want %d, %d", s.InFlight, s.Waiting, inFlight, waiting)
	}
}

func wantRefusal(t *testing.T, err error, want Reason) {
	t.Helper()
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok || refusal.Reason != want {
		t.Errorf("Enter() = %v, want a refusal for %v", err, want)
	}
}
