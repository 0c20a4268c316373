package fleet

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// limit200 has a floor of 4 for each of 12, and a pool of 152; a place is free
// 4 s after it was taken away.
var limit200 = capacity.Plan{InFlight: 200, Deadline: 4 * time.Second}

// oneSecond settles in max(6+4, 5)+4 = 14 s.
func oneSecond() *Options {
	return &Options{Interval: time.Second, Lag: 6 * time.Second, Grace: 5 * time.Second}
}

// answers is a count that says what it was last told to.
type answers struct {
	mu    sync.Mutex
	count Count
	err   error
	hang  bool
}

func (a *answers) say(replicas int, self bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count, a.err = Count{replicas, self}, err
}

func (a *answers) Count(ctx context.Context) (Count, error) {
	a.mu.Lock()
	hang := a.hang
	a.mu.Unlock()
	if hang {
		<-ctx.Done()
		return Count{}, context.Cause(ctx)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.count, a.err
}

// followed is a source under test with the client's side of it.
type followed struct {
	t      *testing.T
	start  time.Time
	places atomic.Int64
	done   chan error
}

func follow(ctx context.Context, t *testing.T, s Source) *followed {
	f := &followed{t: t, start: time.Now(), done: make(chan error, 1)}
	f.places.Store(int64(s.Floor().InFlight))
	go func() {
		f.done <- s.Follow(ctx, func(p capacity.Plan) error {
			f.places.Store(int64(p.InFlight))
			return nil
		}, nil)
	}()
	return f
}

// at checks the places just before and at a time since the start.
func (f *followed) at(after time.Duration, before, want int64) {
	f.t.Helper()
	wait(time.Until(f.start.Add(after)) - time.Nanosecond)
	if got := f.places.Load(); got != before {
		f.t.Errorf("places just before %v = %d, want %d", after, got, before)
	}
	wait(time.Nanosecond)
	if got := f.places.Load(); got != want {
		f.t.Errorf("places at %v = %d, want %d", after, got, want)
	}
}

// wait lets a bubble's time pass.
func wait(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
	synctest.Wait()
}

func counted(t *testing.T, a *answers, o *Options) *Counted {
	t.Helper()
	s, err := NewCounted(a.Count, limit200, 12, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestANewcomerHasItsFloorUntilTheOthersHaveMadeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		a.say(6, true, nil)
		f := follow(t.Context(), t, counted(t, &a, oneSecond()))
		f.at(14*time.Second, 4, 4+152/6)
	})
}

func TestAHigherCountShrinksAtOnceAndALowerOneAfterItHasSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		a.say(6, true, nil)
		s := counted(t, &a, oneSecond())
		f := follow(t.Context(), t, s)
		f.at(20*time.Second, 29, 29)
		a.say(8, true, nil)
		f.at(21*time.Second, 29, 4+152/8)
		a.say(4, true, nil)
		// 8 stood until the answer at 22 s.
		f.at(37*time.Second, 23, 4+152/4)
		if got, want := s.Status(), (Status{Places: 42, Floor: 4, Replicas: 4}); got != want {
			t.Errorf("Status() = %+v, want %+v", got, want)
		}
	})
}

func TestAFlappingAnswerNeverLetsTheShareGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		a.say(6, true, nil)
		f := follow(t.Context(), t, counted(t, &a, oneSecond()))
		f.at(20*time.Second, 29, 29)
		for i := range 100 {
			a.say(1+5*(i/10%2), true, nil) // 10 s of 1, 10 s of 6
			f.at(time.Duration(21+i)*time.Second, 29, 29)
		}
	})
}

func TestMoreReplicasThanStatedTakeTheirFloorsFromThePool(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		a.say(20, true, nil)
		f := follow(t.Context(), t, counted(t, &a, oneSecond()))
		f.at(14*time.Second, 4, 4+(200-20*4)/20)
	})
}

func TestWhoIsNotCountedHasItsFloorAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		a.say(6, true, nil)
		f := follow(t.Context(), t, counted(t, &a, oneSecond()))
		f.at(20*time.Second, 29, 29)
		a.say(5, false, nil)
		f.at(21*time.Second, 29, 4)
		a.say(6, true, nil)
		f.at(36*time.Second, 4, 29)
	})
}

func TestALostCountHoldsForFourIntervalsAndThenDecaysToTheFloor(t *testing.T) {
	for _, hang := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var a answers
			a.say(6, true, nil)
			var log bytes.Buffer
			o := oneSecond()
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			s := counted(t, &a, o)
			f := follow(t.Context(), t, s)
			f.at(20*time.Second, 29, 29) // asked at 20 s too
			lost := errors.New("no such host")
			a.mu.Lock()
			a.err, a.hang = lost, hang
			a.mu.Unlock()
			f.at(24*time.Second, 29, 4)
			if err := s.Status().Err; err == nil || !hang && !errors.Is(err, lost) {
				t.Errorf("Status().Err = %v, want the reason", err)
			}
			a.mu.Lock()
			a.err, a.hang = nil, false
			a.mu.Unlock()
			f.at(39*time.Second, 4, 29)
			if got := strings.Count(log.String(), "\n"); got != 2 {
				t.Errorf("log of a loss and a return = %q, want 2 lines", log.String())
			}
		})
	}
}

func TestFollowEndsOnTheFloor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		a.say(6, true, nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		f := follow(ctx, t, counted(t, &a, oneSecond()))
		f.at(20*time.Second, 29, 29)
		why := errors.New("draining")
		cancel(why)
		if err := <-f.done; err != why {
			t.Errorf("Follow(canceled) = %v, want %v", err, why)
		}
		if got := f.places.Load(); got != 4 {
			t.Errorf("places after Follow = %d, want the floor of 4", got)
		}
	})
}

func TestFollowReturnsAnErrorOfResize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a answers
		a.say(6, true, nil)
		broken := errors.New("closed")
		err := counted(t, &a, oneSecond()).Follow(t.Context(), func(capacity.Plan) error { return broken }, nil)
		if !errors.Is(err, broken) {
			t.Errorf("Follow(broken resize) = %v, want %v", err, broken)
		}
	})
}

func TestStaticIsAnEqualShareOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewStatic(limit200, 6)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		f := follow(ctx, t, s)
		f.at(time.Hour, 33, 33)
		if got, want := s.Status(), (Status{Places: 33, Floor: 33, Replicas: 6}); got != want {
			t.Errorf("Status() = %+v, want %+v", got, want)
		}
		cancel()
		if err := <-f.done; err != context.Canceled {
			t.Errorf("Follow(canceled) = %v, want %v", err, context.Canceled)
		}
	})
	if _, err := NewStatic(limit200, 201); err == nil {
		t.Error("NewStatic(201 of 200) = nil, want an error")
	}
}
