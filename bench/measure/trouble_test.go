package measure

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
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
	hangs := peers.HTTP{Name: "one that never answers", New: func(*http.Transport, peers.Wrap, string, peers.Sizes) (*peers.Client, error) {
		return &peers.Client{Stop: func() {}, Do: func(ctx context.Context, _ string) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}}, nil
	}}
	if _, hung, err := outage(hangs, 1, 3, 50*time.Millisecond); err != nil || hung != 3 {
		t.Errorf("outage(%s) = %d hung, %v; want all 3", hangs.Name, hung, err)
	}
}

func TestLateAnswersAreNotGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		takes := time.Second
		c := traffic{deadline: time.Second, do: func(context.Context, string) (int, error) {
			<-time.After(takes)
			return http.StatusOK, nil
		}}
		c.call()
		takes = time.Second - 1
		c.call()
		if ended := c.wait(); ended[0].good || !ended[1].good {
			t.Errorf("calls that took the deadline, and less = %+v, want the second alone to be good", ended)
		}
	})
}

func TestPercentilesAreOfTheGoodCalls(t *testing.T) {
	var calls []call
	for i := 100; i > 0; i-- {
		calls = append(calls, call{took: time.Duration(i), good: true}, call{took: time.Hour})
	}
	o := sum(calls)
	if o.calls != 200 || o.good != 100 || o.percentile(0.5) != 51 || o.percentile(0.99) != 100 {
		t.Errorf("sum() = %d calls, %d good, p50 %d and p99 %d, want 200, 100, 51 and 100", o.calls, o.good, o.percentile(0.5), o.percentile(0.99))
	}
	if got := sum(nil).percentile(0.99); got != 0 {
		t.Errorf("p99 of nothing = %v, want 0", got)
	}
}

func TestGoodputIsWhatEndsWithinTheLoad(t *testing.T) {
	b := Bottleneck{Deadline: time.Second, During: 5 * time.Second}
	start := time.Now()
	ends := func(at time.Duration, good bool) call {
		return call{began: start, took: at, good: good}
	}
	calls := []call{
		ends(900*time.Millisecond, true), // while queues fill
		ends(1100*time.Millisecond, true), ends(2*time.Second, true), ends(2*time.Second, false), ends(4900*time.Millisecond, true),
		ends(5100*time.Millisecond, true), // out of a queue, after the load
	}
	if got := b.rate(calls, start); got != 3.0/4 {
		t.Errorf("rate() = %g, want 3 in 4 s", got)
	}
	for _, c := range []struct{ rate, capacity, offered, want float64 }{{50, 100, 0.5, 1}, {50, 100, 2, 0.5}} {
		if got := goodput(c.rate, c.capacity, c.offered); got != c.want {
			t.Errorf("goodput(%g of %g, %g offered) = %g, want %g", c.rate, c.capacity, c.offered, got, c.want)
		}
	}
}

func TestWorkForNobodyIsCounted(t *testing.T) {
	arrived := make(chan struct{})
	u := newUpstream(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	u.Start()
	defer u.Close()
	client, err := u.setUp(stack(t, "net/http"), u.URL, peers.Sizes{InFlight: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
	}()
	client.Do(ctx, u.URL)
	u.idle()
	if got := u.wasted.Load(); got != 1 {
		t.Errorf("wasted requests = %d, want 1: its caller left", got)
	}
}

func TestACrowdThatIsTurnedAwayIsNoMeasureOfWaiting(t *testing.T) {
	got, err := Waiting(stack(t, "offtake"), 2000, time.Second)
	if err != nil || got.During < 100 || got.After > got.During/2 {
		t.Errorf("Waiting(offtake) = %+v, %v; want some memory for each call, which is free when it has left", got, err)
	}
	short := stack(t, "offtake")
	plain := short.New
	short.New = func(base *http.Transport, w peers.Wrap, url string, s peers.Sizes) (*peers.Client, error) {
		s.Queue = 1
		return plain(base, w, url, s)
	}
	if _, err := Waiting(short, 20, time.Second); err == nil {
		t.Error("Waiting(a queue for one) = nil, want an error: most are refused")
	}
}
