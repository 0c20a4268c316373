package endpoint

import (
	"container/heap"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// behavior is what an endpoint does with a call.
type behavior func(r *rand.Rand) (time.Duration, Result)

func healthy(r *rand.Rand) (time.Duration, Result) {
	return 5*time.Millisecond + time.Duration(r.ExpFloat64()*float64(5*time.Millisecond)), Success
}

var bad = map[string]behavior{
	"fails at once": func(*rand.Rand) (time.Duration, Result) { return time.Millisecond, Failure },
	"hangs":         func(*rand.Rand) (time.Duration, Result) { return time.Second, Failure },
	"slow": func(r *rand.Rand) (time.Duration, Result) {
		took, result := healthy(r)
		return 20 * took, result
	},
}

// played is a call of a simulation.
type played struct {
	call  Call
	began time.Time // the first attempt
	ends  time.Time
	with  Result
	retry bool
}

type agenda []*played

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].ends.Before(a[j].ends) }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(*played)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}

// simulation plays calls at a set, one after the other in virtual time.
type simulation struct {
	set     *Set
	members []*Endpoint
	act     map[*Endpoint]behavior
	random  *rand.Rand
	retries bool

	took   []time.Duration
	failed int
	at     map[string]int // failures by endpoint
	begun  map[string]int
}

func newSimulation(seed uint64, acts ...behavior) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &simulation{
		set: NewSet(Options{Rand: r.IntN}), act: make(map[*Endpoint]behavior), random: r,
		at: make(map[string]int), begun: make(map[string]int),
	}
	var names []string
	for i := range acts {
		names = append(names, fmt.Sprint("10.0.0.", i))
	}
	s.members = s.set.Update(epoch, names)
	for i, e := range s.members {
		s.act[e] = acts[i]
	}
	return s
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// run plays calls at a rate for so long, and counts those that begin after warm.
func (s *simulation) run(rate float64, warm, long time.Duration) {
	var due agenda
	for now, n := epoch, 0; now.Before(epoch.Add(long)); n++ {
		for len(due) > 0 && !due[0].ends.After(now) {
			s.end(&due, heap.Pop(&due).(*played), warm)
		}
		heap.Push(&due, s.begin(&played{began: now}, now, nil))
		now = now.Add(time.Duration(s.random.ExpFloat64() / rate * float64(time.Second)))
	}
	for len(due) > 0 {
		s.end(&due, heap.Pop(&due).(*played), warm)
	}
}

func (s *simulation) begin(p *played, now time.Time, avoid *Endpoint) *played {
	e := s.set.Pick(now, s.members, avoid)
	s.begun[e.Name()]++
	p.call.Begin(e, now)
	took, with := s.act[e](s.random)
	p.ends, p.with = now.Add(took), with
	return p
}

func (s *simulation) end(due *agenda, p *played, warm time.Duration) {
	e := p.call.Endpoint()
	p.call.Answer(p.ends, p.with, errors.New("it broke"))
	p.call.Done(p.ends)
	counts := p.began.Sub(epoch) >= warm
	if p.with == Failure {
		s.at[e.Name()]++
		if s.retries && !p.retry {
			p.retry = true
			heap.Push(due, s.begin(p, p.ends, e))
			return
		}
		if counts {
			s.failed++
		}
	}
	if counts {
		s.took = append(s.took, p.ends.Sub(p.began))
	}
}

func (s *simulation) p99() time.Duration {
	slices.Sort(s.took)
	return s.took[len(s.took)*99/100]
}

func TestOneBadEndpointOfThreeCostsNextToNothing(t *testing.T) {
	for name, act := range bad {
		for _, rate := range []float64{100, 1000} {
			for _, retries := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %v a second, retries %v", name, rate, retries), func(t *testing.T) {
					for seed := range uint64(2) {
						well := newSimulation(seed, healthy, healthy, healthy)
						well.run(rate, 2*time.Second, 30*time.Second)
						s := newSimulation(seed, healthy, act, healthy)
						s.retries = retries
						s.run(rate, 2*time.Second, 30*time.Second)
						most := 0.05
						if retries {
							most = 0.002 // with one more, none: what is left is two in a row
						}
						if got := float64(s.failed) / float64(len(s.took)); got > most {
							t.Errorf("seed %d: %.2f %% of %d calls failed, want %.1f at most", seed, 100*got, len(s.took), 100*most)
						}
						if name == "slow" && s.p99() > 2*well.p99() {
							t.Errorf("seed %d: p99 = %v, want twice that of a healthy one, %v, at most", seed, s.p99(), well.p99())
						}
					}
				})
			}
		}
	}
}

func TestWithFewCallsABadEndpointGetsThreeOfAHundred(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 5} {
		for seed := range uint64(2) {
			s := newSimulation(seed, healthy, bad["fails at once"], healthy)
			s.run(rate, 0, time.Duration(100/rate*float64(time.Second)))
			most := 3
			if rate < 1 {
				most = 2 + int(100/rate/latestBack.Seconds()) + 1 // once a minute it is tried however few there are
			}
			if got := s.at["10.0.0.1"]; got > most {
				t.Errorf("seed %d, %v a second: %d failures, want %d at most", seed, rate, got, most)
			}
		}
	}
}

func TestHealthyEndpointsShareEvenlyAndNoneIsLeftOut(t *testing.T) {
	s := newSimulation(1, healthy, healthy, healthy, healthy)
	s.run(1000, 0, 30*time.Second)
	for name, n := range s.begun {
		if share := float64(n) / float64(len(s.took)); share < 0.23 || share > 0.27 {
			t.Errorf("%s has %.3f of the calls, want a quarter", name, share)
		}
	}
	if c := s.set.Counts(); c.Applied != [Reasons]uint64{} {
		t.Errorf("left out = %v, want none", c.Applied)
	}
}

func TestInATotalOutageNobodyIsLeftOut(t *testing.T) {
	fails := bad["fails at once"]
	s := newSimulation(1, fails, fails, fails)
	s.run(100, 0, 10*time.Second)
	if c := s.set.Counts(); c.Applied != [Reasons]uint64{} || c.Out != 0 {
		t.Errorf("left out = %v, %d now, want none", c.Applied, c.Out)
	}
}

func TestWhoRecoversWhileAllOthersFailGetsTheCalls(t *testing.T) {
	turned := false // 10.0.0.1 first fails alone; then it is the only one that does not
	turn := func(before, after behavior) behavior {
		return func(r *rand.Rand) (time.Duration, Result) {
			if turned {
				return after(r)
			}
			return before(r)
		}
	}
	fails := bad["fails at once"]
	s := newSimulation(1, turn(healthy, fails), turn(fails, healthy), turn(healthy, fails))
	s.run(100, 0, 5*time.Second)
	turned = true
	failed := 0
	for i := range 400 {
		now := epoch.Add(5*time.Second + time.Duration(i)*10*time.Millisecond)
		p := s.begin(new(played), now, nil)
		p.call.Answer(now, p.with, nil)
		p.call.Done(now)
		if i >= 200 && p.with == Failure {
			failed++
		}
	}
	if failed > 40 {
		t.Errorf("%d of 200 calls failed two seconds after one of three was well, want few", failed)
	}
}
