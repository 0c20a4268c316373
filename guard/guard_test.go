package guard

import (
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/clienttest"
	"github.com/offtake-go/offtake/internal/incoming"
)

func open(t *testing.T, plan capacity.Plan) *Guard {
	t.Helper()
	g, err := New(plan, &Options{Name: "cache", Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return g
}

func TestAGuardHasAllBehavioursOfAClient(t *testing.T) {
	for name, call := range map[string]func(*Guard, clienttest.Setup, context.Context) error{
		"by a function": func(g *Guard, s clienttest.Setup, ctx context.Context) error {
			return g.Do(ctx, handler(s))
		},
		"with a result": func(g *Guard, s clienttest.Setup, ctx context.Context) error {
			_, err := Call(ctx, g, func(ctx context.Context) (int, error) { return 1, handler(s)(ctx) })
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			clienttest.Run(t, clienttest.Subject{Open: func(t *testing.T, s clienttest.Setup) clienttest.Client {
				g := open(t, s.Plan)
				return clienttest.Client{
					Call: func(ctx context.Context) error { return call(g, s, ctx) },
					Load: func() (int, int) {
						s := g.Stats()
						return s.InFlight, s.Queued
					},
					Resize: g.Resize, Shutdown: g.Shutdown, Close: g.Close,
				}
			}})
		})
	}
}

func handler(s clienttest.Setup) func(context.Context) error {
	return func(ctx context.Context) error {
		if s.Before != nil {
			s.Before()
		}
		return s.Handle(ctx)
	}
}

func TestAPlaceIsTakenAndGivenBackByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue, Deadline: time.Second})
		p, err := g.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.Take(t.Context()); !errors.Is(err, offtake.ErrBusy) {
			t.Errorf("Take() = %v, want %v", err, offtake.ErrBusy)
		}
		began := time.Now()
		<-p.Context().Done()
		if got := time.Since(began); got != 900*time.Millisecond {
			t.Errorf("Context() ended after %v, want 900ms", got)
		}
		late, ok := errors.AsType[*TimeoutError](p.Done(p.Context().Err()))
		if !ok || late.Phase != PhaseAttempt || late.Limit != 900*time.Millisecond {
			t.Errorf("Done() = %v, want a *TimeoutError by its 900ms", late)
		}
		if err := p.Done(io.EOF); err != io.EOF {
			t.Errorf("second Done(EOF) = %v, want EOF", err)
		}
		if got := g.Stats().InFlight; got != 0 {
			t.Errorf("Stats().InFlight = %d, want 0", got)
		}
	})
}

func TestAFunctionThatIgnoresItsContextKeepsItsPlaceAndIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue, Deadline: time.Second})
		var group sync.WaitGroup
		group.Go(func() {
			err := g.Do(context.Background(), func(context.Context) error {
				<-time.After(3 * time.Second) // heeds nothing
				return nil
			})
			if err != nil {
				t.Errorf("Do() = %v, want the function's nil", err)
			}
		})
		<-time.After(2 * time.Second)
		if s := g.Stats(); s.InFlight != 1 || s.Overdue != 1 {
			t.Errorf("Stats() = %d in flight, %d overdue, want 1, 1", s.InFlight, s.Overdue)
		}
		if err := g.Do(t.Context(), nil); !errors.Is(err, offtake.ErrBusy) {
			t.Errorf("Do() = %v, want %v", err, offtake.ErrBusy)
		}
		group.Wait()
		if s := g.Stats(); s.InFlight != 0 || s.Overdue != 0 || s.Overran != 1 {
			t.Errorf("Stats() = %d in flight, %d overdue, %d overran, want 0, 0, 1", s.InFlight, s.Overdue, s.Overran)
		}
	})
}

func TestACallIsRepeatedOnlyOnTheCallersWordAndWithinTheBudget(t *testing.T) {
	failed := errors.New("no such luck")
	for _, tt := range []struct {
		name    string
		serving int // the attempt that is served meanwhile
		err     error
		options []CallOption
		calls   int // of the function, for ten failing calls
	}{
		{"without a word", 1, failed, nil, 10},
		{"idempotent", 1, failed, []CallOption{Idempotent}, 13}, // the budget's floor is 3
		{"already a retry", 2, failed, []CallOption{Idempotent}, 10},
		{"not the upstream's fault", 1, errBlameless, []CallOption{Idempotent}, 10},
		{"busy elsewhere", 1, offtake.ErrBusy, []CallOption{Idempotent}, 10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g, err := New(capacity.Plan{InFlight: 1}, &Options{
					Name: "cache", Registerer: prometheus.NewRegistry(), Blameless: func(err error) bool { return err == errBlameless },
				})
				if err != nil {
					t.Fatal(err)
				}
				var calls int
				for range 10 {
					err := g.Do(incoming.NewContext(t.Context(), tt.serving), func(context.Context) error { calls++; return tt.err }, tt.options...)
					if !errors.Is(err, tt.err) {
						t.Errorf("Do() = %v, want %v", err, tt.err)
					}
				}
				if calls != tt.calls {
					t.Errorf("calls of the function = %d, want %d", calls, tt.calls)
				}
			})
		})
	}
}

var errBlameless = errors.New("no rows")

func TestARetryPausesHalfItsBoundAtLeastAndEndsByTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, capacity.Plan{InFlight: 1, Attempts: 2})
		var at []time.Time
		_, err := Call(t.Context(), g, func(context.Context) (int, error) {
			at = append(at, time.Now())
			return len(at), io.EOF
		}, Idempotent)
		if again, ok := errors.AsType[*RetryError](err); !ok || again.Attempts != 2 || len(at) != 2 {
			t.Fatalf("Call() = %v after %d attempts, want a *RetryError after 2", err, len(at))
		}
		if pause := at[1].Sub(at[0]); pause < 12*time.Millisecond || pause > 25*time.Millisecond {
			t.Errorf("pause = %v, want one in [12.5ms, 25ms]", pause)
		}
		at = nil
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := g.Do(ctx, func(context.Context) error { at = append(at, time.Now()); return io.EOF }, Idempotent); err != io.EOF || len(at) != 1 {
			t.Errorf("Do() = %v after %d attempts, want EOF after 1: there was no time for another", err, len(at))
		}
	})
}

func TestAnAttemptThatTimesOutIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, capacity.Plan{InFlight: 1, Deadline: time.Second, Attempt: 300 * time.Millisecond, Attempts: 2})
		var n int
		got, err := Call(t.Context(), g, func(ctx context.Context) (string, error) {
			if n++; n == 1 {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "answer", ctx.Err()
		}, Idempotent)
		if got != "answer" || err != nil {
			t.Errorf("Call() = %q, %v, want the answer of the second attempt", got, err)
		}
	})
}

func TestTheContextOfACallIsAnHonestOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := open(t, capacity.Plan{InFlight: 1, Deadline: time.Second, Attempts: capacity.NoRetry})
		type key struct{}
		parent := context.WithValue(t.Context(), key{}, "value")
		var kept, child context.Context
		err := g.Do(parent, func(ctx context.Context) error {
			kept = ctx //nolint:fatcontext // that it is kept is what is tested
			if ctx.Value(key{}) != "value" || ctx.Err() != nil || context.Cause(ctx) != nil {
				t.Errorf("ctx = value %v, %v, %v, want the parent's value and no error", ctx.Value(key{}), ctx.Err(), context.Cause(ctx))
			}
			if d, ok := ctx.Deadline(); !ok || time.Until(d) != 900*time.Millisecond {
				t.Errorf("Deadline() = in %v, %t, want in 900ms", time.Until(d), ok)
			}
			var cancel context.CancelFunc
			child, cancel = context.WithCancel(ctx)
			t.Cleanup(cancel)
			<-child.Done()
			return context.Cause(child)
		})
		if late, ok := errors.AsType[*TimeoutError](err); !ok || late.Phase != PhaseAttempt {
			t.Errorf("Do() = %v, want a *TimeoutError of the attempt", err)
		}
		for _, ctx := range []context.Context{kept, child} {
			if ctx.Err() != context.DeadlineExceeded {
				t.Errorf("Err() after the call = %v, want %v", ctx.Err(), context.DeadlineExceeded)
			}
		}
		if err := g.Do(parent, func(ctx context.Context) error { kept = ctx; return nil }); err != nil { //nolint:fatcontext // as above
			t.Errorf("Do() = %v, want nil", err)
		}
		<-kept.Done()
		if kept.Err() != context.Canceled {
			t.Errorf("Err() after the call = %v, want %v", kept.Err(), context.Canceled)
		}
	})
}

func TestGoexitGivesThePlaceBack(t *testing.T) {
	g := open(t, capacity.Plan{InFlight: 1})
	var group sync.WaitGroup
	group.Go(func() {
		_ = g.Do(context.Background(), func(context.Context) error { runtime.Goexit(); return nil })
	})
	group.Wait()
	if got := g.Stats().InFlight; got != 0 {
		t.Errorf("Stats().InFlight = %d, want 0", got)
	}
}

func TestObserveModeLetsAllPassAndCounts(t *testing.T) {
	g := open(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue})
	g.Observe(true)
	for range 2 {
		if _, err := g.Take(t.Context()); err != nil {
			t.Errorf("Take() in observe mode = %v, want nil", err)
		}
	}
	if s := g.state(); s.InFlight != 2 || s.Refusals[0].Observed != 1 {
		t.Errorf("state() = %+v, want 2 in flight and 1 refusal observed", s)
	}
}

func TestEveryMistakeComesAtOnce(t *testing.T) {
	_, err := New(capacity.Plan{InFlight: -1, Queue: -7}, nil)
	for _, want := range []string{"InFlight", "Queue", "Options.Name"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() = %v, want it to name %s", err, want)
		}
	}
}
