package readiness

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// failing returns a check that fails n times before it passes.
func failing(n int) func(context.Context) error {
	return func(context.Context) error {
		if n--; n >= 0 {
			return errors.New("connection refused")
		}
		return nil
	}
}

func wantState(t *testing.T, g *Gate, want State) {
	t.Helper()
	if got := g.State(); got != want {
		t.Errorf("State() = %v, want %v", got, want)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestOpensWhenEveryCheckHasPassedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		slow := make(chan struct{})
		runs := 0
		g.Add("fast", func(context.Context) error { runs++; return nil })
		g.Add("slow", func(context.Context) error { <-slow; return nil })
		opened := g.Opened()
		done := make(chan error)
		go func() { done <- g.Run(t.Context()) }()
		<-time.After(time.Minute)
		wantState(t, &g, Warming)
		if isClosed(opened) {
			t.Error("Opened() is closed while warming")
		}
		close(slow)
		if err := <-done; err != nil {
			t.Errorf("Run() = %v, want nil", err)
		}
		wantState(t, &g, Ready)
		if !isClosed(opened) || !isClosed(g.Opened()) || isClosed(g.Drained()) {
			t.Error("Opened() is not closed, or Drained() is, once ready")
		}
		if runs != 1 {
			t.Errorf("a check that passed ran %d times, want 1", runs)
		}
	})
}

func TestWithoutChecksItOpensAtOnceAndWithoutRunNever(t *testing.T) {
	var g Gate
	wantState(t, &g, Warming)
	if err := g.Run(t.Context()); err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
	wantState(t, &g, Ready)
	if err := g.Run(t.Context()); err == nil {
		t.Error("Run() a second time = nil, want an error")
	}
}

func TestTriesAgainWithPausesThatGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var at []time.Duration
		start, fail := time.Now(), failing(8)
		g.Add("upstream", func(ctx context.Context) error {
			at = append(at, time.Since(start))
			return fail(ctx)
		})
		if err := g.Run(t.Context()); err != nil {
			t.Fatalf("Run() = %v, want nil", err)
		}
		bound := firstPause
		for i := range len(at) - 1 {
			if got := at[i+1] - at[i]; got < bound/2 || got > bound {
				t.Errorf("pause %d = %v, want one in [%v, %v]", i, got, bound/2, bound)
			}
			bound = min(2*bound, longestPause)
		}
		c := g.Stats().Checks[0]
		if c.Attempts != 9 || !c.Passed || c.Err != nil || c.Took != at[8] {
			t.Errorf("check = %+v, want passed at the 9th attempt after %v", c, at[8])
		}
	})
}

func TestPausesOfManyReplicasAreSpread(t *testing.T) {
	const replicas = 2000
	windows := make(map[time.Duration]int) // of 100 ms
	for range replicas {
		windows[pause(10)/(100*time.Millisecond)]++
	}
	for at, n := range windows { // 2.5 s have 25 windows: 80 in each, 9 standard deviations off is 160
		if n > 160 {
			t.Errorf("%d of %d replicas knock in the same 100 ms (window %d)", n, replicas, at)
		}
	}
}

func TestAnAttemptThatHangsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		attempts := 0
		g.Add("hung", func(ctx context.Context) error {
			if attempts++; attempts > 1 {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		})
		start := time.Now()
		if err := g.Run(t.Context()); err != nil {
			t.Errorf("Run() = %v, want nil", err)
		}
		if got := time.Since(start); got < attemptTime || got > attemptTime+firstPause {
			t.Errorf("Run took %v, want %v and a pause", got, attemptTime)
		}
	})
}

func TestDrainClosesForGood(t *testing.T) {
	var g Gate
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.Drain()
	g.Drain()
	wantState(t, &g, Draining)
	if !isClosed(g.Drained()) {
		t.Error("Drained() is not closed after Drain")
	}
}

func TestDrainStopsTheChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Add("down", func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		})
		done := make(chan error)
		go func() { done <- g.Run(t.Context()) }()
		synctest.Wait()
		g.Drain()
		if err := <-done; err != errDraining {
			t.Errorf("Run() = %v, want %v", err, errDraining)
		}
		wantState(t, &g, Draining)
		if isClosed(g.Opened()) {
			t.Error("Opened() is closed though it never opened")
		}
	})
	var g Gate
	g.Drain()
	if err := g.Run(t.Context()); err != errDraining {
		t.Errorf("Run(drained) = %v, want %v", err, errDraining)
	}
}

func TestRunReturnsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Add("down", failing(1000))
		ctx, cancel := context.WithCancelCause(t.Context())
		stopped := errors.New("stopped")
		time.AfterFunc(time.Second, func() { cancel(stopped) })
		if err := g.Run(ctx); err != stopped {
			t.Errorf("Run() = %v, want %v", err, stopped)
		}
		wantState(t, &g, Warming)
		if c := g.Stats().Checks[0]; c.Passed || c.Err == nil || c.Err.Error() != "connection refused" {
			t.Errorf("check = %+v, want its own last error", c)
		}
	})
}

func TestACheckThatEndsItsGoroutineIsNamed(t *testing.T) {
	var g Gate
	g.Add("upstream", func(context.Context) error { runtime.Goexit(); return nil })
	if err := g.Run(t.Context()); err == nil || !strings.Contains(err.Error(), `"upstream"`) {
		t.Errorf("Run() = %v, want an error that names the check", err)
	}
	wantState(t, &g, Warming)
}

func TestMistakesKeepTheGateShutAndAreNamedAtOnce(t *testing.T) {
	var g Gate
	pass := func(context.Context) error { return nil }
	g.Add("a", pass)
	g.Add("a", pass)
	g.Add("", pass)
	g.Add("nil", nil)
	err := g.Run(t.Context())
	if err == nil {
		t.Fatal("Run(mistakes) = nil, want an error")
	}
	for _, want := range []string{`check "a": another`, `check "": its name`, `check "nil": it is nil`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("Run(mistakes) = %v, want %q in it", err, want)
		}
	}
	wantState(t, &g, Warming)
}

func TestACheckAddedDuringRunKeepsTheGateShut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Add("slow", func(context.Context) error { <-time.After(time.Second); return nil })
		done := make(chan error)
		go func() { done <- g.Run(t.Context()) }()
		synctest.Wait()
		g.Add("late", failing(0))
		if err := <-done; err == nil || !strings.Contains(err.Error(), `"late"`) {
			t.Errorf("Run() = %v, want an error that names the late check", err)
		}
		wantState(t, &g, Warming)
	})
}
