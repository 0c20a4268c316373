package redisfleet

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

// whole is the limit of the tests in virtual time: a floor of 2 for each of 12, a
// pool of 176, and calls of at most a second.
var whole = capacity.Plan{InFlight: 200, Deadline: time.Second}

const leaseTime = 4 * time.Second

// world is a fleet in virtual time around the reference of the script.
type world struct {
	t    *testing.T
	seed uint64
	rng  *rand.Rand // of the one that moves the fleet

	mu       sync.Mutex
	store    reference
	replica  reference // of the store, behind by some requests
	start    time.Time
	step     time.Duration // of the store's clock, so far
	down     bool          // the store answers nobody
	replicas []*replica
	most     int
}

// replica is one process, with calls that end at these times.
type replica struct {
	w       *world
	rng     *rand.Rand
	kill    context.CancelFunc
	cut     bool // from the store
	blind   bool // it has no use to tell
	dead    bool
	demand  int
	places  int
	calls   []time.Time
	running sync.WaitGroup
}

var errLost = errors.New("lost")

// do is a network that is slow, loses questions and answers, and delivers late.
func (r *replica) do(ctx context.Context, q request) (reply, error) {
	there, back, again := r.delays()
	if again > 0 {
		time.AfterFunc(again, func() { r.w.deliver(r, q) })
	}
	answers := make(chan func() (reply, error), 1)
	time.AfterFunc(there, func() {
		got, err := r.w.deliver(r, q)
		time.AfterFunc(back, func() { answers <- func() (reply, error) { return got, err } })
	})
	select {
	case a := <-answers:
		return a()
	case <-ctx.Done():
		return reply{}, context.Cause(ctx)
	}
}

// delays are how long a question and its answer take, and when the question is
// delivered once more, if it is.
func (r *replica) delays() (there, back, again time.Duration) {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	delay := func(most time.Duration) time.Duration { return time.Duration(r.rng.Int64N(int64(most))) }
	there, back = delay(20*time.Millisecond), delay(20*time.Millisecond)
	switch r.rng.IntN(20) {
	case 0:
		there = delay(4 * leaseTime)
	case 1:
		back = delay(4 * leaseTime)
	case 2:
		again = delay(2 * leaseTime)
	}
	return there, back, again
}

func (w *world) deliver(r *replica, q request) (reply, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down || r.cut {
		return reply{}, errLost
	}
	if w.store.known && r.rng.IntN(30) == 0 {
		w.replica = w.store
		w.replica.leases = maps.Clone(w.store.leases)
	}
	w.store.wall = 1_700_000_000_000 + (time.Since(w.start) + w.step).Milliseconds()
	got, ok := w.store.do(q)
	if !ok {
		return reply{}, errOvertaken
	}
	return got, nil
}

func (r *replica) resize(p capacity.Plan) error {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.places = p.InFlight
	return nil
}

func (r *replica) use() fleet.Use {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	r.endLocked()
	return fleet.Use{InFlight: len(r.calls), Waiting: max(r.demand-len(r.calls), 0)}
}

// endLocked removes the calls that are over.
func (r *replica) endLocked() {
	now := time.Now()
	r.calls = slices.DeleteFunc(r.calls, func(end time.Time) bool { return !end.After(now) })
}

// callLocked starts what calls the replica wants and may.
func (r *replica) callLocked() {
	r.endLocked()
	for len(r.calls) < min(r.places, r.demand) {
		length := whole.Deadline
		if r.w.rng.IntN(4) == 0 {
			length = time.Duration(1 + r.w.rng.Int64N(int64(whole.Deadline)))
		}
		r.calls = append(r.calls, time.Now().Add(length))
	}
}

// check lets everybody call, and counts what is in use.
func (w *world) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := 0
	for _, r := range w.replicas {
		if !r.dead {
			r.callLocked()
			sum += len(r.calls)
		}
	}
	w.most = max(w.most, sum)
	if sum > whole.InFlight {
		w.t.Fatalf("seed %d at %v: %d places in use of %d", w.seed, time.Since(w.start), sum, whole.InFlight)
	}
}

func (w *world) join(ctx context.Context) {
	r := &replica{w: w, rng: rand.New(rand.NewPCG(w.seed, w.rng.Uint64())), demand: 200, blind: w.rng.IntN(4) == 0}
	reserve, err := fleet.NewReserve(whole, 12, 2)
	if err != nil {
		w.t.Fatal(err)
	}
	o, err := (&Options{Lease: leaseTime}).resolve(whole.Deadline)
	if err != nil {
		w.t.Fatal(err)
	}
	source := newLeases(r.do, reserve, o)
	r.places = source.Floor().InFlight
	life, kill := context.WithCancel(ctx)
	r.kill = kill
	use := r.use
	if r.blind {
		use = nil
	}
	r.running.Go(func() { source.Follow(life, r.resize, use) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.replicas = append(w.replicas, r)
}

// move does one thing to the fleet.
func (w *world) move(ctx context.Context) {
	w.heal()
	// A full fleet, or the floors of those that are not there hide a mistake.
	for len(w.replicas) == 0 || len(w.replicas) < 12 && w.rng.IntN(4) != 0 {
		w.join(ctx)
	}
	r := w.replicas[w.rng.IntN(len(w.replicas))]
	switch w.rng.IntN(8) {
	case 0: // dies without a word: nothing of it reaches the store again
		w.mu.Lock()
		r.dead, r.cut = true, true
		w.replicas = slices.DeleteFunc(w.replicas, func(o *replica) bool { return o == r })
		w.mu.Unlock()
		r.kill()
	case 1: // drains
		r.kill()
		r.running.Wait()
		w.mu.Lock()
		w.replicas = slices.DeleteFunc(w.replicas, func(o *replica) bool { return o == r })
		w.mu.Unlock()
	case 2, 3:
		w.mu.Lock()
		r.demand = []int{0, 200, 200, 200}[w.rng.IntN(4)]
		w.mu.Unlock()
	case 4, 5:
		w.mu.Lock()
		r.cut = true
		w.mu.Unlock()
	case 6:
		w.mu.Lock()
		w.down = true
		w.mu.Unlock()
	case 7:
		w.hurtStore()
	}
}

// heal ends some of what is broken, so that the limit is used in between.
func (w *world) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = w.down && w.rng.IntN(3) == 0
	for _, r := range w.replicas {
		r.cut = r.cut && w.rng.IntN(3) != 0
	}
}

func (w *world) hurtStore() {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch w.rng.IntN(3) {
	case 0: // restarts from nothing
		w.store = reference{run: w.store.run + "x"}
	case 1: // is replaced by its replica
		run := w.store.run
		w.store = w.replica
		w.store.leases, w.store.run = maps.Clone(w.replica.leases), run+"y"
	case 2: // has its clock set
		w.step += time.Duration(w.rng.Int64N(int64(time.Hour))) - 30*time.Minute
	}
}

func TestTheSumNeverExceedsTheLimitWhateverHappensToReplicasNetworkAndStore(t *testing.T) {
	most := 0
	for seed := range uint64(4) {
		synctest.Test(t, func(t *testing.T) {
			w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), start: time.Now(), store: reference{run: "a"}}
			ctx, cancel := context.WithCancel(t.Context())
			for range 100 {
				w.move(ctx)
				for range 1 + w.rng.IntN(200) {
					<-time.After(time.Duration(5+w.rng.IntN(50)) * time.Millisecond)
					w.check()
				}
			}
			cancel()
			for _, r := range w.replicas {
				r.running.Wait()
			}
			<-time.After(10 * leaseTime) // what the network still holds
			most = max(most, w.most)
		})
	}
	// The model must have come close, or it shows nothing.
	if most < 190 {
		t.Errorf("most places in use = %d, want a fleet that uses its limit of 200", most)
	}
}
