package endpoint

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// at is an instant of a test.
func at(d time.Duration) time.Time { return epoch.Add(d) }

func newSet(n int, o Options) (*Set, []*Endpoint) {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprint("10.0.0.", i))
	}
	s := NewSet(o)
	return s, s.Update(epoch, names)
}

// answer is one call with its answer after so long.
func answer(e *Endpoint, began, took time.Duration, r Result) {
	var c Call
	c.Begin(e, at(began))
	c.Answer(at(began+took), r, errors.New("it broke"))
	c.Done(at(began + took))
}

const ms = time.Millisecond

func TestAnEndpointIsLeftOutForTwoFailuresWithNoSuccessBetween(t *testing.T) {
	for name, c := range map[string]struct {
		results []Result // of the endpoint; its peer succeeds after each
		out     int
	}{
		"one failure":                   {[]Result{Failure}, 0},
		"two":                           {[]Result{Failure, Failure}, 1},
		"a success between":             {[]Result{Failure, Success, Failure}, 0},
		"busy is no failure":            {[]Result{Busy, Busy, Busy, Busy}, 0},
		"busy is no success either":     {[]Result{Failure, Busy, Failure}, 1},
		"nor is a caller that went":     {[]Result{Failure, Unknown, Failure}, 1},
		"a caller that went is nothing": {[]Result{Unknown, Unknown, Unknown}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, e := newSet(3, Options{})
			for i, r := range c.results {
				now := time.Duration(i) * 100 * ms
				answer(e[0], now, ms, r)
				answer(e[1], now+ms, ms, Success)
				s.Pick(at(now+10*ms), e, nil)
			}
			for range 50 { // a pick looks at those that it draws
				s.Pick(at(time.Second), e, nil)
			}
			if got := s.Counts().Out; got != c.out {
				t.Errorf("out after %v = %d, want %d", c.results, got, c.out)
			}
		})
	}
}

func TestWhatHangsIsEvidenceBeforeItFails(t *testing.T) {
	s, e := newSet(3, Options{})
	for i := range 20 {
		answer(e[i%3], time.Duration(i)*ms, 30*ms, Success)
	}
	var calls [2]Call
	for i := range calls {
		calls[i].Begin(e[0], at(100*ms))
	}
	look := func(now time.Duration) int {
		for range 50 {
			s.Pick(at(now), e, nil)
		}
		answer(e[1], now-29*ms, 30*ms, Success) // while others succeed
		for range 50 {
			s.Pick(at(now+ms), e, nil)
		}
		return s.Counts().Out
	}
	if got := look(390 * ms); got != 0 {
		t.Errorf("out after 290 ms without an answer, peers at 30 ms = %d, want 0", got)
	}
	if got := look(450 * ms); got != 1 {
		t.Errorf("out after 350 ms without an answer, peers at 30 ms = %d, want 1", got)
	}
	if got := s.Snapshot(at(450 * ms))[0].State; got != "slow" {
		t.Errorf("state = %q, want slow", got)
	}
}

func TestACallThatMayTakeItsTimeIsNoEvidence(t *testing.T) {
	s, e := newSet(3, Options{})
	for i := range 20 {
		answer(e[i%3], time.Duration(i)*ms, ms, Success)
	}
	calls := make([]Call, 4)
	for i := range calls {
		calls[i].Patient = true
		calls[i].Begin(e[0], at(100*ms))
	}
	answer(e[1], time.Minute, ms, Success)
	for range 50 {
		s.Pick(at(time.Minute+ms), e, nil)
	}
	if got := s.Counts().Out; got != 0 {
		t.Errorf("out = %d, want 0", got)
	}
	for i := range calls {
		calls[i].Answer(at(2*time.Minute), Success, nil)
		calls[i].Done(at(2 * time.Minute))
	}
	if got := s.Snapshot(at(2 * time.Minute))[0].InFlight; got != 0 {
		t.Errorf("in flight = %d, want 0", got)
	}
}

func TestTheWayBackIsOneCallAfterAGrowingPause(t *testing.T) {
	var told []Change
	s, e := newSet(3, Options{Notify: func(c Change) { told = append(told, c) }, Rand: rand.New(rand.NewPCG(1, 2)).IntN})
	answer(e[0], 0, ms, Failure)
	answer(e[1], ms, ms, Success)
	answer(e[0], 2*ms, ms, Failure)
	var tried []time.Duration
	for now := 10 * ms; now < 30*time.Second; now += 10 * ms {
		if got := s.Pick(at(now), e, nil); got == e[0] {
			tried = append(tried, now)
			answer(got, now, ms, Failure)
		} else {
			answer(got, now, ms, Success)
		}
	}
	if len(tried) < 3 || len(tried) > 5 {
		t.Fatalf("tried %v, want about four times in 30 s", tried)
	}
	for i := 1; i < len(tried)-1; i++ {
		if tried[i+1]-tried[i] <= tried[i]-tried[i-1] {
			t.Errorf("tried %v, want longer pauses each time", tried)
		}
	}
	for now := 30 * time.Second; s.Counts().Out > 0; now += 10 * ms {
		if now > 2*time.Minute {
			t.Fatal("it never came back")
		}
		answer(s.Pick(at(now), e, nil), now, ms, Success)
	}
	if len(told) != 2 || !told[0].Out || told[0].Err == nil || told[1].Out || told[0].Endpoint != "10.0.0.0" {
		t.Errorf("told %+v, want that it was left out, and that it is back", told)
	}
}

func TestARetryGoesToAnotherEndpoint(t *testing.T) {
	s, e := newSet(2, Options{})
	for i := range 100 {
		if got := s.Pick(at(time.Duration(i)*ms), e, e[0]); got != e[1] {
			t.Fatalf("Pick avoiding %s = %s, want the other", e[0].Name(), got.Name())
		}
	}
	if got := s.Pick(at(0), e[:1], e[0]); got != e[0] {
		t.Errorf("Pick avoiding the only one = %v, want it", got)
	}
}

func TestObserveCountsAndAppliesNothing(t *testing.T) {
	s, e := newSet(3, Options{})
	s.Observe(true)
	begun := 0
	for now := time.Duration(0); now < 10*time.Second; now += 10 * ms {
		got, r := s.Pick(at(now), e, nil), Success
		if got == e[0] {
			r = Failure
			begun++
		}
		answer(got, now, ms, r)
	}
	if begun < 250 {
		t.Errorf("%d of 1000 calls at the bad one, want a third: nothing is applied", begun)
	}
	if c := s.Counts(); c.Applied != [Reasons]uint64{} || c.Observed[Failing] == 0 {
		t.Errorf("counts = %+v, want some observed and none applied", c)
	}
}

func TestANewEndpointStartsSlowly(t *testing.T) {
	s, e := newSet(2, Options{Rand: rand.New(rand.NewPCG(1, 2)).IntN})
	e = s.Update(at(time.Minute), []string{e[0].Name(), e[1].Name(), "10.0.0.9"})
	count := func(from time.Duration) (n int) {
		calls := make([]Call, 60)
		for i := range calls {
			got := s.Pick(at(from), e, nil)
			if got == e[2] {
				n++
			}
			calls[i].Begin(got, at(from))
		}
		for i := range calls {
			calls[i].Answer(at(from+ms), Success, nil)
			calls[i].Done(at(from + ms))
		}
		return n
	}
	if got := count(time.Minute + ms); got > 8 {
		t.Errorf("a new endpoint has %d of the first 60 calls, want a tenth of a share", got)
	}
	if got := count(2 * time.Minute); got < 15 {
		t.Errorf("after a minute it has %d of 60 calls, want a third", got)
	}
	if got := s.Snapshot(at(time.Minute + ms))[2]; got.State != "starting" || got.Age != ms {
		t.Errorf("snapshot = %+v, want one that is starting", got)
	}
}

func TestWhatIsNotNamedAnyMoreIsForgottenAndNoNameChangesNothing(t *testing.T) {
	s, e := newSet(3, Options{})
	if got := s.Update(at(0), nil); !slices.Equal(got, e) {
		t.Errorf("Update(nothing) = %d endpoints, want the 3 there were", len(got))
	}
	answer(e[0], 0, ms, Failure)
	answer(e[1], ms, ms, Success)
	answer(e[0], 2*ms, ms, Failure)
	got := s.Update(at(time.Second), []string{"10.0.0.1", "10.0.0.1", "10.0.0.2"})
	if len(got) != 2 || got[0] != e[1] || got[1] != e[2] {
		t.Errorf("Update = %d endpoints, want the two that stay, once each", len(got))
	}
	if c := s.Counts(); c.Out != 0 || c.Endpoints != 2 {
		t.Errorf("counts = %+v, want none left out of 2", c)
	}
	answer(e[0], time.Second, ms, Success) // a call that is still under way there
	if c := s.Counts(); c.Out != 0 {
		t.Errorf("counts = %+v, want none left out", c)
	}
}

// TestWhateverHappensTheBoundsHold does anything in any order.
func TestWhateverHappensTheBoundsHold(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		out := 0
		s, e := newSet(1+r.IntN(6), Options{Rand: r.IntN, Notify: func(c Change) {
			if out++; !c.Out {
				out -= 2
			}
		}})
		var calls []*Call
		now := epoch
		for range 2000 {
			now = now.Add(time.Duration(r.ExpFloat64() * float64(20*ms)))
			switch r.IntN(20) {
			case 0:
				s.Observe(r.IntN(4) == 0)
			case 1, 2, 3, 4, 5, 6, 7, 8, 9:
				var avoid *Endpoint
				if r.IntN(4) == 0 {
					avoid = e[r.IntN(len(e))]
				}
				from := slices.Clone(e)
				r.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
				from = from[:1+r.IntN(len(from))]
				got := s.Pick(now, from, avoid)
				if !slices.Contains(from, got) || got == avoid && len(from) > 1 {
					t.Fatalf("seed %d: Pick = %v, want another one of those given", seed, got)
				}
				c := &Call{Patient: r.IntN(10) == 0}
				c.Begin(got, now)
				calls = append(calls, c)
			default:
				if len(calls) == 0 {
					continue
				}
				i := r.IntN(len(calls))
				for range r.IntN(3) {
					calls[i].Answer(now, Result(r.IntN(4)), errors.New("it broke"))
				}
				if r.IntN(2) == 0 {
					calls[i].Done(now)
					calls = slices.Delete(calls, i, i+1)
				}
			}
			c, inFlight := s.Counts(), 0
			for _, at := range s.Snapshot(now) {
				inFlight += at.InFlight
			}
			if c.Out > len(e)/2 || c.Out != out || inFlight != len(calls) {
				t.Fatalf("seed %d: %d of %d out, %d told, %d in flight of %d: want half at most, all told and counted", seed, c.Out, len(e), out, inFlight, len(calls))
			}
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{1, 3, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, e := newSet(n, Options{})
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				var c Call
				now := time.Now()
				for pb.Next() {
					c.Begin(s.Pick(now, e, nil), now)
					c.Answer(now, Success, nil)
					c.Done(now)
				}
			})
		})
	}
}
