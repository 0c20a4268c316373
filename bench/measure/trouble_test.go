package measure

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

func TestABrownOutIsCounted(t *testing.T) {
	p := PartlySlow{Work: time.Millisecond, Rate: 50, During: 300 * time.Millisecond, Sizes: peers.Sizes{InFlight: 4, Deadline: 10 * time.Second}}
	if got, err := p.BrownOuts(stack(t, "net/http")); err != nil || got.Good != 1 || got.Hung != 0 || got.PerCall != 1 {
		t.Errorf("BrownOuts(a sound upstream) = %+v, %v; want all good and one request a call", got, err)
	}
	p.Every, p.Sizes.Deadline = 1, 500*time.Millisecond
	if got, err := p.BrownOuts(stack(t, "net/http")); err != nil || got.Good != 0 || got.Hung == 0 || got.Dials == 0 {
		t.Errorf("BrownOuts(all hang) = %+v, %v; want none good, and dials", got, err)
	}
}

func TestAFirstBurstIsCounted(t *testing.T) {
	d := Distant{Handshake: time.Millisecond, Work: time.Millisecond, Calls: 8, Deadline: 10 * time.Second}
	if got, err := d.FirstBursts(stack(t, "net/http")); err != nil || got.Cold.Dials == 0 || got.Cold.Failed != 0 || got.Warmed != nil {
		t.Errorf("FirstBursts(net/http) = %+v, %v; want dials, no failure, and no means to warm", got, err)
	}
	got, err := d.FirstBursts(stack(t, "offtake"))
	if err != nil || got.Cold.Dials == 0 || got.Warmed == nil {
		t.Fatalf("FirstBursts(offtake) = %+v, %v; want dials when cold, and means to warm", got, err)
	}
	if got.Warmed.Dials != 0 || got.Warmed.Failed != 0 {
		t.Errorf("FirstBursts(offtake), warm = %+v, want no dial and no failure", *got.Warmed)
	}
}

func TestARecoveryIsTheFirstGoodSecond(t *testing.T) {
	ended := time.Now()
	var calls []call
	for at := time.Duration(0); at < 5*time.Second; at += 10 * time.Millisecond {
		calls = append(calls, call{began: ended.Add(at), good: at >= 2*time.Second})
	}
	b := Bump{Sizes: peers.Sizes{Deadline: 240 * time.Millisecond}}
	for _, at := range []struct{ seconds, want float64 }{
		{0, never}, {2, never},
		{3.2, never}, // the second from 1.95 s on is good, but its last call might not have ended
		{3.25, 1.95}, // 95 of its 100 calls are
		{5, 1.95},
	} {
		now := ended.Add(time.Duration(at.seconds * float64(time.Second)))
		if got := b.recovered(calls, ended, now); got != at.want {
			t.Errorf("recovered(after %g s) = %g, want %g", at.seconds, got, at.want)
		}
	}
}

func TestAnUpstreamThatTurnsAllAwayDoesNotRecover(t *testing.T) {
	b := Bump{
		Workers: 1, Queue: 0, Work: time.Millisecond, Slow: time.Millisecond, Rate: 100,
		Sizes: peers.Sizes{InFlight: 4, Deadline: time.Second}, Lasts: 100 * time.Millisecond,
	}
	got, err := b.Recoveries(stack(t, "net/http"))
	if err != nil || got.Seconds != never || got.During != 0 || got.PerCall != 1 {
		t.Errorf("Recoveries(all are answered 503) = %+v, %v; want no recovery, none good, one request a call", got, err)
	}
}

func TestForgottenBodiesAreHeldOrNot(t *testing.T) {
	f := Forgetful{Sizes: peers.Sizes{InFlight: 2, Deadline: 200 * time.Millisecond}, Patience: 100 * time.Millisecond, First: 500 * time.Millisecond}
	bounded := peers.InTrouble()[1]
	if got, err := f.Leaks(bounded); err != nil || got.Answered != 0 || got.Back != never || got.Open != 2 {
		t.Errorf("Leaks(%s) = %+v, %v; want no answer ever, and both connections held", bounded.Name, got, err)
	}
	f.Watch = time.Minute
	if got, err := f.Leaks(stack(t, "offtake")); err != nil || got.Back == never {
		t.Errorf("Leaks(offtake) = %+v, %v; want answers", got, err)
	}
	if got, err := f.Leaks(stack(t, "net/http")); err != nil || got.Open < 3 {
		t.Errorf("Leaks(net/http) = %+v, %v; want two connections held and one more", got, err)
	}
}

func TestACrowdPassesAsOftenAsAsked(t *testing.T) {
	var passes atomic.Int64
	if err := crowd(7, 1000, func(context.Context) error { passes.Add(1); return nil }); err != nil || passes.Load() != 1000 {
		t.Errorf("crowd(1000 passes) = %v after %d, want nil after 1000", err, passes.Load())
	}
	if err := crowd(7, 1000, func(context.Context) error { return errors.New("no") }); err == nil {
		t.Error("crowd() = nil, want the error of a pass")
	}
	scalings, err := Scalings(1, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(scalings), len(Names(scalings))*len(Crowds)*min(2, runtime.NumCPU()); got != want {
		t.Errorf("Scalings() = %d figures, want %d", got, want)
	}
}

func TestTrafficKeepsToItsRate(t *testing.T) {
	slow := traffic{do: func(context.Context, string) (int, error) { return http.StatusOK, nil }, rate: 20, deadline: time.Minute}
	start := time.Now()
	for range 20 {
		slow.offer(10 * time.Millisecond)
	}
	least, most := 3, int(20*time.Since(start).Seconds()) // 0.2 s at least have 4, and rounding costs one
	if got := len(slow.wait()); got < least || got > most {
		t.Errorf("20 calls a second in %v = %d, want %d to %d", time.Since(start), got, least, most)
	}
}

func TestAnOutageTellsWhoNeverAnswers(t *testing.T) {
	if got, err := Outages(stack(t, "net/http"), 10); err != nil || got.One != 1 || got.Three != 1 || got.Hung != 0 {
		t.Errorf("Outages(net/http) = %+v, %v; want one request for each call, and all answered", got, err)
	}
}
