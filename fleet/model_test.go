package fleet

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// world is a fleet in virtual time: who is alive, who is counted, and what each
// may still have in use.
type world struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand
	lag  time.Duration

	mu     sync.Mutex
	all    []*replica
	events int
	most   int
}

// replica is one process. It is counted from joined until left, and holds places
// from joined until dead.
type replica struct {
	w                    *world
	rng                  *rand.Rand
	joined, left, dead   time.Time
	history              []held // what any instant of the last hold fell under
	kill                 context.CancelFunc
	lag                  time.Duration
	blindFrom, blindTill time.Time
}

type held struct {
	at     time.Time
	places int
}

var never = time.Unix(1<<40, 0)

// inUse is the most that r can have in use: what it had at any time within hold.
func (r *replica) inUse(now time.Time) int {
	if !now.Before(r.dead) {
		return 0
	}
	most := 0
	for len(r.history) > 1 && now.Sub(r.history[1].at) >= limit200.Deadline {
		r.history = r.history[1:]
	}
	for _, h := range r.history {
		most = max(most, h.places)
	}
	return most
}

func (w *world) check() {
	now, sum := time.Now(), 0
	for _, r := range w.all {
		sum += r.inUse(now)
	}
	w.events++
	w.most = max(w.most, sum)
	if sum > limit200.InFlight {
		w.t.Errorf("seed %d: %d places in use of %d", w.seed, sum, limit200.InFlight)
	}
}

func (r *replica) resize(p capacity.Plan) error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.history = append(r.history, held{time.Now(), p.InFlight})
	r.w.check()
	return nil
}

// count answers late, with what was true up to lag ago, or not at all.
func (r *replica) count(ctx context.Context) (Count, error) {
	w := r.w
	w.mu.Lock()
	late := time.Duration(r.rng.Int64N(int64(600 * time.Millisecond)))
	blind := !time.Now().Before(r.blindFrom) && time.Now().Before(r.blindTill)
	fails := r.rng.IntN(8) == 0
	w.mu.Unlock()
	switch {
	case blind:
		<-ctx.Done()
	case fails:
		return Count{}, errors.New("lost")
	}
	if !sleep(ctx, late) {
		return Count{}, context.Cause(ctx)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	then := time.Now().Add(-r.lag)
	var c Count
	for _, o := range w.all {
		if !then.Before(o.joined) && then.Before(o.left) {
			c.Replicas++
			c.Self = c.Self || o == r
		}
	}
	return c, nil
}

func (w *world) start(ctx context.Context, running *sync.WaitGroup) {
	r := &replica{w: w, rng: rand.New(rand.NewPCG(w.seed, w.rng.Uint64())), lag: w.lag * time.Duration(w.rng.IntN(2)), joined: time.Now(), left: never, dead: never}
	s, err := NewCounted(r.count, limit200, 12, oneSecond())
	if err != nil {
		w.t.Error(err)
		return
	}
	r.history = []held{{time.Now(), s.Floor().InFlight}}
	w.all = append(w.all, r)
	w.check()
	var life context.Context
	life, r.kill = context.WithCancel(ctx)
	running.Go(func() { s.Follow(life, r.resize, nil) })
}

// step does one thing to the fleet.
func (w *world) step(ctx context.Context, running *sync.WaitGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.all = slices.DeleteFunc(w.all, func(r *replica) bool {
		if now.Before(r.dead) {
			return false
		}
		r.kill()
		return now.Sub(r.left) > w.lag
	})
	var alive []*replica
	for _, r := range w.all {
		if now.Before(r.dead) {
			alive = append(alive, r)
		}
	}
	if len(alive) == 0 {
		w.start(ctx, running)
		return
	}
	r := alive[w.rng.IntN(len(alive))]
	switch w.rng.IntN(7) {
	case 0, 1, 2:
		if len(alive) < 12 {
			w.start(ctx, running)
		}
	case 6: // one joins just when all others go blind
		if len(alive) < 12 {
			w.start(ctx, running)
		}
		for _, r := range alive {
			r.blindFrom, r.blindTill = now, now.Add(time.Duration(w.rng.IntN(60))*time.Second)
		}
	case 3: // dies without a word, and is counted for a while
		r.dead = now
		r.left = minTime(r.left, now.Add(time.Duration(w.rng.IntN(40))*time.Second))
	case 4: // terminates: no longer counted, and holds places through its grace
		r.left = minTime(r.left, now)
		r.dead = minTime(r.dead, now.Add(5*time.Second))
	case 5: // is cut off, and the others may stop to count it
		r.blindFrom, r.blindTill = now, now.Add(time.Duration(w.rng.IntN(60))*time.Second)
		if w.rng.IntN(2) == 0 {
			r.left = minTime(r.left, now.Add(time.Duration(w.rng.IntN(10))*time.Second))
		}
	}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func TestTheSumNeverExceedsTheLimitWhileReplicasComeGoAndAreCutOff(t *testing.T) {
	events, most := 0, 0
	for seed := range uint64(10) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 9)), lag: 6 * time.Second}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			for range 120 {
				w.step(ctx, &running)
				wait([]time.Duration{0, time.Second, 30 * time.Second}[w.rng.IntN(3)] + time.Duration(w.rng.Int64N(int64(time.Second))))
			}
			cancel()
			running.Wait()
			events, most = events+w.events, max(most, w.most)
		})
	}
	// The model must have come close, or it shows nothing.
	if most < 190 {
		t.Errorf("most places in use = %d in %d events, want a fleet that uses its limit of 200", most, events)
	}
}
