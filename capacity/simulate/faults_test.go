package simulate

import (
	"testing"
	"time"
)

// three is a client of three replicas at 100 calls a second, with one retry within a
// budget of 10 %, whose first replica has a fault from the end of Settle on.
func three(fault Event) Scenario {
	fault.At = 10 * time.Second
	return Scenario{
		Name: "three", Settle: 12 * time.Second, Duration: time.Minute,
		Callers:  Callers{Rate: 100, Timeout: time.Second, Attempts: 2, RetryShare: 0.1},
		Proxy:    Proxy{Pick: LeastRequest},
		Service:  Service{Replicas: 3, Client: Client{Deadline: 5 * time.Second}},
		Upstream: Upstream{Latency: Latency{Mean: 20 * time.Millisecond, CV: 1}},
		Events:   []Event{fault},
	}
}

func TestAClientThatLeavesAReplicaOutLosesFewCalls(t *testing.T) {
	for name, fault := range map[string]Event{
		"fails at once":          {Break: []int{1}},
		"hangs":                  {Wedge: []int{1}},
		"is killed all the time": {Restart: []int{1}},
	} {
		s := three(fault)
		if name == "is killed all the time" {
			s.Service.Start = time.Minute // it listens nowhere meanwhile
		}
		without := run(t, s, 1)
		s.Proxy.LeaveOut = &LeaveOut{}
		with := run(t, s, 1)
		if with.Calls.FailedShare > 0.02 {
			t.Errorf("%s: %v of calls fail, want 2 %% at the most; without leaving out %v", name, with.Calls.FailedShare, without.Calls.FailedShare)
		}
		if with.Calls.FailedShare > without.Calls.FailedShare {
			t.Errorf("%s: %v of calls fail with LeaveOut and %v without", name, with.Calls.FailedShare, without.Calls.FailedShare)
		}
	}
}

func TestAtMostHalfAreLeftOutAndNeverTheLast(t *testing.T) {
	for _, tt := range []struct {
		replicas, broken int
		want             int
	}{{1, 1, 0}, {2, 2, 1}, {3, 3, 1}, {4, 4, 2}, {5, 5, 2}, {5, 1, 1}} {
		s := three(Event{})
		s.Service.Replicas, s.Proxy.LeaveOut = tt.replicas, &LeaveOut{}
		for i := range tt.broken {
			s.Events[0].Break = append(s.Events[0].Break, i+1)
		}
		resolved, err := s.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		e := newEngine(&resolved, 1)
		e.runUntil(int64(20*time.Second), 1<<30)
		if got := e.proxies[0].leftOut; got != tt.want {
			t.Errorf("%d of %d replicas broken: %d left out, want %d", tt.broken, tt.replicas, got, tt.want)
		}
	}
}

func TestABusyReplicaIsNotLeftOut(t *testing.T) {
	s := three(Event{})
	s.Service.Busy, s.Service.Door = Answer429, Gate{Places: 1, Queue: -1}
	s.Callers.Rate, s.Proxy.LeaveOut = 500, &LeaveOut{}
	if r := run(t, s, 1); r.Calls.Failed[DoorFull] == 0 || r.Mesh.LeftOut != 0 {
		t.Errorf("%d calls were refused and replicas were left out %d times, want many and none", r.Calls.Failed[DoorFull], r.Mesh.LeftOut)
	}
}

func TestALeftOutReplicaComesBackByARealCall(t *testing.T) {
	s := three(Event{Break: []int{1}})
	s.Events = append(s.Events, Event{At: 30 * time.Second, Heal: []int{1}})
	s.Proxy.LeaveOut = &LeaveOut{LongestPause: 2 * time.Second}
	resolved, err := s.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	e := newEngine(&resolved, 1)
	e.runUntil(int64(29*time.Second), 1<<30)
	if e.proxies[0].leftOut != 1 {
		t.Errorf("before it is healed %d are left out, want 1", e.proxies[0].leftOut)
	}
	e.runUntil(int64(33*time.Second), 1<<30)
	if e.proxies[0].leftOut != 0 {
		t.Errorf("3 s after it was healed %d are left out, want none: no pause is longer than 2 s", e.proxies[0].leftOut)
	}
}

// A round robin gives each replica its share; who looks at what is in flight does
// not.
func TestASlowReplicaSlowsItsShareOfCalls(t *testing.T) {
	s := three(Event{Slow: &Slow{Replicas: 2, By: 20}})
	s.Proxy.Pick = RoundRobin
	turns := run(t, s, 1)
	want := (1 + 20 + 20) * 20 * time.Millisecond / 3
	if got := turns.Calls.Latency.Mean; got < want*9/10 || got > want*11/10 {
		t.Errorf("mean with two of three 20 times slower = %v, want about %v", got, want)
	}
	s.Proxy.Pick = LeastRequest
	if least := run(t, s, 1); least.Calls.Latency.Mean > want*3/4 {
		t.Errorf("mean by least request = %v, want less than three quarters of the %v by turns", least.Calls.Latency.Mean, want)
	}
	s.Events = append(s.Events, Event{At: 11 * time.Second, Heal: []int{1, 2}})
	if healed := run(t, s, 1); healed.Calls.Latency.Mean > 25*time.Millisecond {
		t.Errorf("mean of healed replicas = %v, want about 20ms", healed.Calls.Latency.Mean)
	}
}

func TestHealthChecksTakeOutWhatDoesNotAnswer(t *testing.T) {
	check := HealthCheck{Interval: time.Second, Timeout: 500 * time.Millisecond, Unhealthy: 2, Healthy: 2}
	for _, tt := range []struct {
		name  string
		fault Event
		most  float64 // of calls that fail in the minute from 2 s after the fault
		out   int64
	}{
		{"a wedged replica", Event{Wedge: []int{1}}, 0.02, 1},
		{"a broken one", Event{Break: []int{1}}, 0.02, 1},
		{"not a slow one", Event{Slow: &Slow{Replicas: 1, By: 20}}, 0.03, 0},
	} {
		s := three(tt.fault)
		s.Settle, s.Proxy.HealthCheck = 9*time.Second, check
		if r := run(t, s, 1); r.Mesh.CheckedOut != tt.out || r.Calls.FailedShare > tt.most {
			t.Errorf("%s: taken out %d times, %v of calls fail, want %d and %v at the most", tt.name, r.Mesh.CheckedOut, r.Calls.FailedShare, tt.out, tt.most)
		}
	}
}

func TestEnforcingIsTheChanceThatADetectionEjects(t *testing.T) {
	ejected := func(share *Share) (ejections, detected int64) {
		s := three(Event{})
		s.Upstream.Errors, s.Callers.Attempts, s.Duration = 0.5, 1, 10*time.Minute
		s.Proxy.Outlier = &Outlier{Consecutive5xx: 3, MaxEjectionPercent: 100, BaseEjection: time.Second, Interval: time.Second, Enforcing: Enforcing{Consecutive5xx: share}}
		r := run(t, s, 1)
		return r.Mesh.Ejections, r.Mesh.Detected
	}
	none, fifth, all := Share(0), Share(0.2), Share(1)
	if n, seen := ejected(&none); n != 0 || seen == 0 {
		t.Errorf("at 0 %%: %d ejections of %d detections, want none of many", n, seen)
	}
	if n, seen := ejected(&fifth); float64(n) < 0.1*float64(seen) || float64(n) > 0.3*float64(seen) {
		t.Errorf("at 20 %%: %d ejections of %d detections, want a fifth", n, seen)
	}
	n, _ := ejected(&all)
	if byDefault, _ := ejected(nil); n != byDefault || n == 0 {
		t.Errorf("at 100 %%: %d ejections, by default %d, want as many", n, byDefault)
	}
}
