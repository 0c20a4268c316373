package debug

import (
	"math"
	"testing"
	"time"
)

// feed adds a snapshot each tick for a while, with calls per tick.
func feed(t *track, u *Upstream, now *time.Time, d time.Duration, calls uint64) window {
	var w window
	for end := now.Add(d); now.Before(end); *now = now.Add(Tick) {
		next := make(map[string]uint64)
		next["2xx"] = u.Outcomes["2xx"] + calls
		u.Outcomes = next
		w = t.add(*now, *u)
	}
	return w
}

func TestTheWindowIsAboutTheLastMinute(t *testing.T) {
	var tr track
	var u Upstream
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	if w := feed(&tr, &u, &now, Tick, 20); w.calls() != 0 || w.seconds != 0 {
		t.Errorf("at first: %d calls in %v s, want none: what came before is not known", w.calls(), w.seconds)
	}
	if w := feed(&tr, &u, &now, 20*time.Second, 20); w.calls() != 200 || w.seconds != 20 {
		t.Errorf("after 20 s: %d calls in %v s, want 200 in 20", w.calls(), w.seconds)
	}
	for range 20 {
		w := feed(&tr, &u, &now, Tick, 20)
		if rate := float64(w.calls()) / w.seconds; w.seconds > 70 || rate != 10 {
			t.Fatalf("%d calls in %v s, want 10 each second of 70 at most", w.calls(), w.seconds)
		}
	}
	feed(&tr, &u, &now, time.Hour, 20)
	if w := feed(&tr, &u, &now, Tick, 20); w.seconds < 60 || w.seconds > 70 || float64(w.calls()) != 10*w.seconds {
		t.Errorf("after an hour: %d calls in %v s, want 10 each second of 60 to 70", w.calls(), w.seconds)
	}
}

func TestTheHistoryIsTenMinutesOfPeaksAndRates(t *testing.T) {
	var tr track
	u := Upstream{Flow: Flow{Places: 24}}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	feed(&tr, &u, &now, 15*time.Minute, 20)
	u.InFlight = 24
	feed(&tr, &u, &now, Tick, 20) // one moment
	u.InFlight = 0
	feed(&tr, &u, &now, 2*slot, 20)
	h := tr.history(0, tr.pushed)
	if len(h.Calls) != slots || len(h.InFlight) != slots {
		t.Fatalf("history has %d and %d slots, want %d", len(h.Calls), len(h.InFlight), slots)
	}
	peak := sample(0)
	for i := range slots {
		peak = max(peak, h.InFlight[i])
		if h.Calls[i] != 10 || h.Places[i] != 24 {
			t.Errorf("slot %d: %v calls/s and %v places, want 10 and 24", i, h.Calls[i], h.Places[i])
		}
	}
	if peak != 24 {
		t.Errorf("the peak in flight = %v, want 24, though it lasted a moment", peak)
	}
	if tail := tr.history(tr.pushed-2, tr.pushed); len(tail.Calls) != 2 {
		t.Errorf("history(last two) has %d slots, want 2", len(tail.Calls))
	}
}

func TestWhatNobodyLookedAtIsNotKnown(t *testing.T) {
	var tr track
	var u Upstream
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	feed(&tr, &u, &now, time.Minute, 20)
	before := tr.pushed
	now = now.Add(time.Minute)
	feed(&tr, &u, &now, Tick, 20)
	h := tr.history(before, tr.pushed)
	unknown := 0
	for _, v := range h.Calls {
		if math.IsNaN(float64(v)) {
			unknown++
		}
	}
	if got := len(h.Calls); got < 6 || got > 7 || unknown != got-1 {
		t.Errorf("a minute unseen = %d slots, %d of them unknown, want 6 or 7, all but the last", got, unknown)
	}
	if n, err := sample(math.NaN()).MarshalJSON(); string(n) != "null" || err != nil {
		t.Errorf("MarshalJSON(unknown) = %s, %v, want null", n, err)
	}
}

func TestARestartedCounterIsNoHugeNumber(t *testing.T) {
	now := Upstream{Attempts: 5, Leaked: 1, Flow: Flow{Outcomes: map[string]uint64{"2xx": 5}}}
	old := Upstream{Attempts: 1000, Leaked: 7, Flow: Flow{Outcomes: map[string]uint64{"2xx": 1000, "5xx": 3}}}
	w := now.since(old, 60)
	if w.attempts != 5 || w.leaked != 1 || w.calls() != 5 {
		t.Errorf("since() = %d attempts, %d leaked, %d calls, want 5, 1, 5", w.attempts, w.leaked, w.calls())
	}
}
