package simulate

import (
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// anything returns a scenario with every control switched at random, small enough
// to run in milliseconds and tight enough that everything goes wrong.
func anything(seed uint64) Scenario {
	r := rand.New(rand.NewPCG(seed, 99))
	flip := func() bool { return r.IntN(2) == 0 }
	upTo := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
	gate := func() Gate {
		if r.IntN(4) == 0 {
			return Gate{}
		}
		queues := []Queue{0, capacity.NoQueue, Unbounded, 1, 5}
		return Gate{
			Places: 1 + r.IntN(4), Queue: queues[r.IntN(len(queues))], LastIn: flip(), Observe: r.IntN(4) == 0,
			Wait: time.Duration(r.IntN(2)) * upTo(500*time.Millisecond),
		}
	}
	s := Scenario{
		Settle: upTo(5 * time.Second), Duration: 20 * time.Second,
		Callers: Callers{
			Rate: Rate(20 + r.IntN(100)), Even: flip(), Count: 1 + r.IntN(3), Timeout: 100*time.Millisecond + upTo(2*time.Second),
			Deadline: time.Duration(r.IntN(2)) * upTo(3*time.Second), Attempts: 1 + r.IntN(3), RetryShare: Share(r.IntN(2)) / 5,
			RetryBusy: flip(), Backoff: time.Duration(r.IntN(2)) * upTo(300*time.Millisecond),
		},
		Proxy: Proxy{
			Pick: Pick(r.IntN(3)), Timeout: time.Duration(r.IntN(2)) * upTo(2*time.Second), PerTry: time.Duration(r.IntN(2)) * upTo(time.Second),
			Retries: r.IntN(3), RetryPercent: float64(r.IntN(2) * 20), MaxRequests: r.IntN(2) * 40,
			Backoff: time.Duration(r.IntN(2)) * upTo(100*time.Millisecond), PanicThreshold: float64(r.IntN(2) * 50), ZoneFirst: flip(),
		},
		Service: Service{
			Replicas: 1 + r.IntN(6), Door: gate(), Busy: Busy(r.IntN(2)), StopsWhenAbandoned: flip(),
			Client: Client{
				Pool: gate(), Deadline: 50*time.Millisecond + upTo(3*time.Second), Attempt: time.Duration(r.IntN(2)) * upTo(time.Second),
				Attempts: 1 + r.IntN(3), RetryShare: Share(r.IntN(2)) / 5, Backoff: time.Duration(r.IntN(2)) * upTo(100*time.Millisecond),
			},
			Start: upTo(2 * time.Second), WarmUp: upTo(2 * time.Second), Warming: Busy(r.IntN(3)), Gated: flip(),
			EndpointDelay: upTo(time.Second), PreStop: upTo(time.Second), Grace: time.Second + upTo(2*time.Second),
			Liveness: Liveness{Period: time.Duration(r.IntN(2)) * (100*time.Millisecond + upTo(time.Second)), Timeout: 50*time.Millisecond + upTo(time.Second), Failures: 1 + r.IntN(3), SharesPool: flip()},
		},
		Upstream: Upstream{
			Latency: Latency{Mean: 10*time.Millisecond + upTo(300*time.Millisecond), CV: float64(r.IntN(3)) / 2},
			Limit:   r.IntN(2) * 10, Refusal: Busy(r.IntN(2)), Errors: Share(r.IntN(2)) / 10, Hang: Share(r.IntN(2)) / 20,
		},
	}
	s.Service.Zones = 1 + r.IntN(min(3, s.Service.Replicas))
	if flip() {
		s.Proxy.Outlier = &Outlier{
			Consecutive5xx: 1 + Threshold(r.IntN(5)), ConsecutiveGateway: r.IntN(4), SplitLocal: flip(), Interval: 200*time.Millisecond + upTo(2*time.Second),
			BaseEjection: 200*time.Millisecond + upTo(2*time.Second), Jitter: time.Duration(r.IntN(2)) * upTo(time.Second),
			MaxEjectionPercent: float64(10 + r.IntN(91)), CapRule: CapRule(r.IntN(3)), Observe: r.IntN(4) == 0,
		}
		if flip() {
			s.Proxy.Outlier.SuccessRate = &SuccessRate{MinHosts: 2, Volume: 5}
			s.Proxy.Outlier.FailurePercentage = &FailurePercentage{MinHosts: 2, Volume: 5, Threshold: 50}
		}
	}
	if flip() {
		s.Proxy.LeaveOut = &LeaveOut{Failures: 1 + r.IntN(3), Most: Share(r.Float64()), Pause: 50*time.Millisecond + upTo(time.Second)}
	}
	if flip() {
		s.Proxy.HealthCheck = HealthCheck{Interval: 100*time.Millisecond + upTo(time.Second), Unhealthy: 1 + r.IntN(3), Healthy: 1 + r.IntN(2)}
	}
	if o := s.Proxy.Outlier; o != nil && flip() {
		half := Share(r.Float64())
		o.Enforcing = Enforcing{Consecutive5xx: &half, SuccessRate: &half}
	}
	for range r.IntN(6) {
		n := []int{1 + r.IntN(8)}
		limit, share := r.IntN(20), Share(r.Float64())
		s.Events = append(s.Events, []Event{
			{Wedge: n}, {Break: n}, {Heal: n}, {Restart: n}, {Limit: &limit}, {Errors: &share}, {Hang: &share},
			{Rollout: &Rollout{MinReady: upTo(time.Second)}}, {Latency: &Latency{Exponential: 200 * time.Millisecond}},
			{Slow: &Slow{Replicas: 1 + r.IntN(3), By: 1 + 50*r.Float64()}},
		}[r.IntN(10)])
		s.Events[len(s.Events)-1].At = upTo(20 * time.Second)
	}
	return s
}

// FuzzLawsHold looks for a scenario that breaks one: Run checks them itself.
func FuzzLawsHold(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		s := anything(seed)
		r := run(t, s, seed)
		var failed int64
		for _, n := range r.Calls.Failed {
			failed += n
		}
		if r.Calls.Served+failed != r.Calls.Ended {
			t.Errorf("%d served and %d failed of %d calls", r.Calls.Served, failed, r.Calls.Ended)
		}
	})
}

func TestEqualSeedsGiveEqualRuns(t *testing.T) {
	for seed := range uint64(10) {
		s := anything(seed)
		a, b, other := run(t, s, 7), run(t, s, 7), run(t, s, 8)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("scenario %d: two runs with seed 7 differ", seed)
		}
		if reflect.DeepEqual(a.Series, other.Series) {
			t.Errorf("scenario %d: runs with seeds 7 and 8 are equal", seed)
		}
	}
}

func TestRepeatGivesWhatRunGives(t *testing.T) {
	s := anything(3)
	var told []float64
	got, err := Repeat(t.Context(), s, 3, &Options{Seed: 5, Progress: func(done float64) { told = append(told, done) }})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range got {
		if want := run(t, s, 5+uint64(i)); !reflect.DeepEqual(r, want) {
			t.Errorf("Repeat's run %d differs from Run with seed %d", i, 5+i)
		}
	}
	if !slices.IsSorted(told) || told[len(told)-1] < 0.999 {
		t.Errorf("progress = %v, want it to rise to 1", told)
	}
}

// What a run keeps does not grow with how long it is: ten times the time must not
// allocate more.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	bytes := func(d time.Duration) uint64 {
		s := incident(33, 2, d)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		run(t, s, 1)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	short, long := bytes(2*time.Minute), bytes(20*time.Minute)
	// What the checks of the laws allocate goes with the number of checks.
	if long > short*3/2 {
		t.Errorf("allocated in 20 min = %d bytes, want about the %d of 2 min", long, short)
	}
}

func TestALawThatBreaksIsReported(t *testing.T) {
	for name, bend := range map[string]func(*engine){
		"a place held by nobody":         func(e *engine) { e.replicas[0].client.used++ },
		"a call that never ends":         func(e *engine) { e.begun++ },
		"a call that ends twice":         func(e *engine) { e.finish(e.freeCalls[0], served) },
		"a request nobody counts":        func(e *engine) { e.proxies[0].active++ },
		"an ejection too many":           func(e *engine) { e.proxies[0].ejected++ },
		"a replica left out that is not": func(e *engine) { e.proxies[0].leftOut++ },
		"a request lost upstream":        func(e *engine) { e.upstreamInFlight-- },
	} {
		s, err := incident(10, 1, time.Minute).Resolve()
		if err != nil {
			t.Fatal(err)
		}
		e := newEngine(&s, 1)
		e.runUntil(int64(30*time.Second), math.MaxInt)
		if e.check(); e.broken != nil {
			t.Fatalf("before anything is bent: %v", e.broken)
		}
		bend(e)
		if e.check(); e.broken == nil {
			t.Errorf("%s: check() says nothing", name)
		}
	}
}
