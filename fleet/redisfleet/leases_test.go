package redisfleet

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

// bench is one source in virtual time with both of its sides: a store that answers
// as it is told, and a client.
type bench struct {
	*Leases
	t      *testing.T
	start  time.Time
	cancel context.CancelCauseFunc
	done   chan error

	mu       sync.Mutex
	grant    reply // its places are never less than what is held
	err      error
	late     time.Duration
	requests []request
	places   int
	inUse    int
}

// at4s follows a source with a lease of 4 s, renewed every 200 ms, and calls of at
// most 1 s: a share ends 2.5 s after the question that brought it.
func at4s(t *testing.T, use bool, o Options) *bench {
	t.Helper()
	o.Lease = leaseTime
	o, err := o.resolve(whole.Deadline)
	if err != nil {
		t.Fatal(err)
	}
	reserve, err := fleet.NewReserve(whole, 12, 2)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, start: time.Now(), done: make(chan error, 1), grant: reply{places: 40, target: 40, members: 3, open: true}}
	b.Leases = newLeases(b.answer, reserve, o)
	b.places = b.Floor().InFlight
	ctx, cancel := context.WithCancelCause(t.Context())
	b.cancel = cancel
	var used func() fleet.Use
	if use {
		used = b.use
	}
	go func() { b.done <- b.Follow(ctx, b.resize, used) }()
	return b
}

func (b *bench) answer(ctx context.Context, r request) (reply, error) {
	b.mu.Lock()
	b.requests = append(b.requests, r)
	late, got, err := b.late, b.grant, b.err
	b.mu.Unlock()
	if late > 0 {
		select {
		case <-time.After(late):
		case <-ctx.Done():
			return reply{}, context.Cause(ctx)
		}
	}
	got.places = max(got.places, r.held)
	return got, err
}

func (b *bench) resize(p capacity.Plan) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.places = p.InFlight
	return nil
}

func (b *bench) use() fleet.Use {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fleet.Use{InFlight: b.inUse}
}

func (b *bench) set(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// at lets time pass until after the start.
func (b *bench) at(after time.Duration) {
	if d := time.Until(b.start.Add(after)); d > 0 {
		<-time.After(d)
	}
	synctest.Wait()
}

func (b *bench) wantPlaces(want int) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.places != want {
		b.t.Errorf("places at %v = %d, want %d", time.Since(b.start), b.places, want)
	}
}

func (b *bench) wantHeld(want int) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := b.requests[len(b.requests)-1].held; got != want {
		b.t.Errorf("held in the last request at %v = %d, want %d", time.Since(b.start), got, want)
	}
}

func (b *bench) end() {
	b.cancel(nil)
	<-b.done
}

func TestAShareEndsWithTimeLeftForItsLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := at4s(t, true, Options{})
		defer b.end()
		b.at(time.Second) // a request at each 200 ms, the last one now
		b.wantPlaces(42)
		b.set(func() { b.err = errors.New("gone") })
		b.at(3500*time.Millisecond - 1)
		b.wantPlaces(42)
		b.at(3500 * time.Millisecond) // 1 s + 7/8 × 4 s − 1 s
		b.wantPlaces(2)
	})
}

func TestASlowStoreShortensTheShareAndNotTheMargin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := at4s(t, true, Options{})
		defer b.end()
		b.at(100 * time.Millisecond)
		b.set(func() { b.late = time.Second }) // for the requests at 200 ms and 1.2 s
		b.at(1300 * time.Millisecond)
		b.set(func() { b.late = time.Hour }) // for the one at 2.2 s
		b.at(3700*time.Millisecond - 1)
		b.wantPlaces(42)
		b.at(3700 * time.Millisecond) // 2.5 s after the second was sent
		b.wantPlaces(2)
	})
}

func TestWithUseAPlaceIsGivenBackAsSoonAsItIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := at4s(t, true, Options{})
		defer b.end()
		b.at(time.Second)
		b.set(func() { b.inUse, b.grant = 30, reply{places: 10, target: 10, open: true} })
		b.at(1201 * time.Millisecond)
		b.wantPlaces(12) // at once, while 30 calls go on
		b.at(1401 * time.Millisecond)
		b.wantHeld(28) // 30 less the floor
		b.set(func() { b.inUse = 5 })
		b.at(1601 * time.Millisecond)
		b.wantHeld(10)
	})
}

func TestWithoutUseAPlaceIsGivenBackADeadlineAfterItWasTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := at4s(t, false, Options{})
		defer b.end()
		b.at(time.Second)
		b.wantHeld(40)
		b.set(func() { b.grant = reply{places: 10, target: 10, open: true} })
		b.at(2200*time.Millisecond - 1) // it was taken away at 1.2 s
		b.wantPlaces(12)
		b.wantHeld(40)
		b.at(2200 * time.Millisecond)
		b.wantHeld(10)
	})
}

func TestLeavingGivesBackWhatIsFreeUntilAllIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := at4s(t, true, Options{})
		b.at(time.Second)
		b.set(func() { b.inUse = 30 })
		why := errors.New("draining")
		b.cancel(why)
		synctest.Wait()
		b.wantPlaces(2)
		b.wantHeld(28)
		b.set(func() { b.inUse = 8 })
		b.at(1300 * time.Millisecond)
		b.wantHeld(6)
		b.set(func() { b.inUse = 0 })
		if err := <-b.done; err != why {
			t.Errorf("Follow(canceled) = %v, want %v", err, why)
		}
		b.wantHeld(0)
		if got := time.Since(b.start); got != 1400*time.Millisecond {
			t.Errorf("Follow returned at %v, want 1.4s", got)
		}
	})
}

func TestLeavingEndsWithTheDeadlineWhenNobodyKnowsTheUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := at4s(t, false, Options{})
		b.at(time.Second)
		b.cancel(nil)
		<-b.done
		if got := time.Since(b.start); got != 2*time.Second {
			t.Errorf("Follow returned at %v, want 2s", got)
		}
		b.wantHeld(0)
	})
}

func TestALossIsToldOnceAndSoIsItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		b := at4s(t, true, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		b.at(time.Second)
		gone := errors.New("gone")
		b.set(func() { b.err = gone })
		b.at(2 * time.Second)
		if got := b.Status(); !errors.Is(got.Err, gone) || got.Places != 42 || got.Floor != 2 || got.Replicas != 3 {
			t.Errorf("Status() = %+v, want 42 places, a floor of 2, 3 replicas, and %v", got, gone)
		}
		b.set(func() { b.err = nil })
		b.at(3 * time.Second)
		b.end()
		if got := strings.Count(log.String(), "\n"); got != 2 {
			t.Errorf("log = %q, want 2 lines", log.String())
		}
	})
}

func TestFollowReturnsAnErrorOfResizeAndGivesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := at4s(t, true, Options{})
		b.at(time.Second)
		b.end()
		broken := errors.New("closed")
		err := b.Follow(t.Context(), func(capacity.Plan) error { return broken }, b.use)
		if !errors.Is(err, broken) {
			t.Errorf("Follow(broken resize) = %v, want %v", err, broken)
		}
		b.wantHeld(0)
	})
}

func TestWantIsDemandWithHeadroomInBlocksAndDecays(t *testing.T) {
	m := member{floor: 2, pool: 176}
	for _, c := range []struct {
		use  *fleet.Use
		want int
	}{
		{nil, 176},
		{&fleet.Use{}, 0},
		{&fleet.Use{InFlight: 1}, 0},
		{&fleet.Use{InFlight: 20, Waiting: 20}, 50}, // 48, in blocks of 5
		{&fleet.Use{}, 45},                          // 7/8 × 50 − 2 = 41.75
		{&fleet.Use{InFlight: 1000}, 176},
	} {
		if got := m.want(c.use); got != c.want {
			t.Errorf("want(%+v) = %d, want %d", c.use, got, c.want)
		}
	}
}

func TestNewNamesEveryMistakeAtOnce(t *testing.T) {
	_, err := New(nil, "", capacity.Plan{InFlight: 200, Deadline: 8 * time.Second}, 0, &Options{Lease: 15 * time.Second})
	if err == nil {
		t.Fatal("New(mistakes) = nil, want an error")
	}
	for _, want := range []string{"store: it is nil", "name: it is empty", "maxReplicas: 0", "Options.Lease: 15s", "16s would do"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("New(mistakes) = %q, want it to name %q", err, want)
		}
	}
	if _, err := New(nil, "x", capacity.Plan{InFlight: -1}, 12, nil); err == nil || !strings.Contains(err.Error(), "Plan.InFlight: -1") {
		t.Errorf("New(broken plan) = %v, want it to name InFlight", err)
	}
}

func TestWhatIsNotALeaseIsRefused(t *testing.T) {
	c := client(t)
	for _, answer := range []string{"{}", "{1, 2, 3}", "{3, 4, 1, 1}", "{3, -1, 1, 1}", "{0, 0, 1, 1}", "'places'"} {
		s := store{scripter: c, script: redis.NewScript("return " + answer), key: "odd"}
		if got, err := s.do(t.Context(), request{held: 1}); err == nil {
			t.Errorf("do() with the answer %s = %+v, want an error", answer, got)
		}
	}
}
