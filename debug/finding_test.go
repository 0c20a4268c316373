package debug

import (
	"slices"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// quiet is an upstream of which there is nothing to say.
func quiet() (Upstream, window) {
	u := Upstream{Name: "card-processor", RetryBalance: 10}
	u.Places, u.InFlight, u.Required = 24, 5, 6
	u.Plan = Plan{InFlight: 24, Deadline: 5 * time.Second, Rate: 20}
	w := window{seconds: 62, attempts: 1000, outcomes: map[string]uint64{"2xx": 1000}}
	return u, w
}

// waits is a histogram of n observations of at most 250 ms, and more than 100.
func waits(n uint64) Histogram {
	return Histogram{Bounds: []float64{0, 0.1, 0.25}, Counts: []uint64{0, 0, n, n}}
}

func TestSaysWhatIsWrongAndWhere(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Upstream, *window)
		want   findings
	}{
		"nothing": {
			func(*Upstream, *window) {},
			findings{{fine, "ok", "needs 6 of 24 places", ""}},
		},
		"no traffic": {
			func(u *Upstream, w *window) { u.InFlight, w.outcomes = 0, nil },
			findings{{fine, "idle", "no calls in the last minute", ""}},
		},
		"the copied number": {
			func(u *Upstream, w *window) {
				u.Places, u.InFlight, u.Queued, u.Required = 10, 10, 12, 27.6
				u.Rate, u.Hold = 23, 1200*time.Millisecond
				w.wait = waits(100)
			},
			findings{{bad, "slow", "queueing: needs 28 places, has 10 (slower than planned, and more traffic)",
				"23/s that hold a place for 1.2 s each; planned: 20/s for 500 ms at most; 12 wait, the p95 of the wait is 243 ms"}},
		},
		"a slow upstream": {
			func(u *Upstream, _ *window) { u.Required, u.Rate, u.Hold, u.Queued = 40, 20, 2*time.Second, 1 },
			findings{{bad, "slow", "queueing: needs 40 places, has 24 (slower than planned)",
				"20/s that hold a place for 2 s each; planned: 20/s for 1.2 s at most; 1 waits"}},
		},
		"more traffic": {
			func(u *Upstream, _ *window) { u.Required, u.Rate, u.Hold = 30, 60, 500*time.Millisecond },
			findings{{warn, "mis-sized", "needs 30 places, has 24 (60/s, planned 20/s)",
				"60/s that hold a place for 500 ms each; planned: 20/s for 1.2 s at most"}},
		},
		"more traffic than a plan of little headroom, and a little slower": {
			func(u *Upstream, _ *window) {
				u.Plan.Latency, u.Places = 40*time.Millisecond, 1
				u.Rate, u.Hold, u.Required = 60, 60*time.Millisecond, 3.6
			},
			findings{{warn, "mis-sized", "needs 4 places, has 1 (60/s, planned 20/s, and slower)",
				"60/s that hold a place for 60 ms each; planned: 20/s of 40 ms"}},
		},
		"slower than planned, with more traffic": {
			func(u *Upstream, _ *window) {
				u.Plan.Latency = 500 * time.Millisecond
				u.Rate, u.Hold, u.Required, u.Queued = 28, time.Second, 28, 2
			},
			findings{{bad, "slow", "queueing: needs 28 places, has 24 (1 s a call, planned 500 ms, and more traffic)",
				"28/s that hold a place for 1 s each; planned: 20/s of 500 ms; 2 wait"}},
		},
		"nearly all places, since it is slower": {
			func(u *Upstream, _ *window) {
				u.Plan.Latency = 500 * time.Millisecond
				u.Rate, u.Hold, u.Required = 20, 1100*time.Millisecond, 22
			},
			findings{{warn, "near its limit", "needs 22 places, has 24 (1.1 s a call, planned 500 ms)",
				"20/s that hold a place for 1.1 s each; planned: 20/s of 500 ms"}},
		},
		"as planned, in a plan with too few places": {
			func(u *Upstream, _ *window) {
				u.Plan.Latency = time.Second
				u.Places, u.Rate, u.Hold, u.Required = 10, 20, time.Second, 20
			},
			findings{{warn, "mis-sized", "needs 20 places, has 10", "20/s that hold a place for 1 s each; planned: 20/s of 1 s"}},
		},
		"slower than planned, with places enough": {
			func(u *Upstream, _ *window) {
				u.Plan.Latency = 40 * time.Millisecond
				u.Rate, u.Hold, u.Required = 10, 120*time.Millisecond, 1.2
			},
			findings{{warn, "slow", "120 ms a call, planned 40 ms; there are places enough", "10/s that hold a place for 120 ms each; planned: 20/s of 40 ms"}},
		},
		"slower than planned, and nobody would feel it": {
			func(u *Upstream, _ *window) {
				u.Plan.Latency, u.Rate, u.Hold = time.Millisecond, 10, 4*time.Millisecond
			},
			findings{{fine, "ok", "needs 6 of 24 places", ""}},
		},
		"slower than planned in too few calls to tell": {
			func(u *Upstream, w *window) {
				u.Plan.Latency, u.Rate, u.Hold, w.outcomes = 40*time.Millisecond, 0.3, time.Second, map[string]uint64{"2xx": 20}
			},
			findings{{fine, "ok", "needs 6 of 24 places", ""}},
		},
		"too few places that nobody waits for yet": {
			func(u *Upstream, _ *window) { u.Required = 30 },
			findings{{warn, "mis-sized", "needs 30 places, has 24", ""}},
		},
		"bursts": {
			func(_ *Upstream, w *window) { w.wait = waits(100) },
			findings{{warn, "busy", "bursts wait: the p95 is 243 ms, and on average it needs 6 places, has 24", ""}},
		},
		"refusals after their cause": {
			func(u *Upstream, w *window) {
				u.Required = 48
				w.outcomes["busy"], w.refused = 250, map[string]uint64{"queue_full": 240, "wait": 10}
			},
			findings{
				{bad, "mis-sized", "queueing: needs 48 places, has 24", "nobody waits just now"},
				{bad, "busy", "250 of 1250 calls refused here in the last minute", "240 queue full, 10 waited in vain"},
			},
		},
		"broken": {
			func(u *Upstream, w *window) {
				w.outcomes["reset"], w.outcomes["5xx"] = 300, 30
				u.Failures = []Failure{{Outcome: "timeout", Text: "too slow"}, {Outcome: "tls", Text: "of an hour ago"}, {Outcome: "5xx", Text: "status 503"}}
			},
			findings{{bad, "broken", "330 of 1330 calls failed in the last minute", "300 reset, 30 5xx; the last: status 503"}},
		},
		"bursts that are refused": {
			func(_ *Upstream, w *window) { w.outcomes["busy"], w.refused = 100, map[string]uint64{"late": 100} },
			findings{{bad, "busy", "100 of 1100 calls refused here in the last minute", "100 too late to begin; they came in bursts: on average it needs 6 of 24 places"}},
		},
		"a few failures": {
			func(_ *Upstream, w *window) { w.outcomes["tls"] = 20 },
			findings{{warn, "broken", "20 of 1020 calls failed in the last minute", "20 tls"}},
		},
		"failures in a thousand": {
			func(_ *Upstream, w *window) { w.outcomes["5xx"] = 2 },
			findings{{fine, "ok", "needs 6 of 24 places", ""}},
		},
		"too slow": {
			func(_ *Upstream, w *window) {
				w.outcomes["timeout"], w.duration = 100, waits(1000)
			},
			findings{{bad, "slow", "100 of 1100 calls ran out of time in the last minute", "the p95 of a call is 243 ms"}},
		},
		"soon too slow": {
			func(u *Upstream, w *window) { u.Plan.Deadline, w.duration = 400*time.Millisecond, waits(1000) },
			findings{{warn, "slow", "the p95 is 243 ms, more than half of the deadline of 400 ms", ""}},
		},
		"retries": {
			func(u *Upstream, w *window) {
				u.RetryBalance = 0.4
				w.attempts, w.retries = 1400, map[string]uint64{"status": 390, "busy": 10}
			},
			findings{
				{bad, "amplifying", "1.4 attempts for each call", ""},
				{warn, "busy", "the upstream said so to 10 of 1400 attempts in the last minute", ""},
				{warn, "out of retries", "400 retries in the last minute, and the budget allows no more", "390 status, 10 busy"},
			},
		},
		"gRPC": {
			func(_ *Upstream, w *window) {
				w.outcomes = map[string]uint64{"OK": 900, "NOT_FOUND": 50, "UNAVAILABLE": 40, "RESOURCE_EXHAUSTED": 10}
			},
			findings{
				{warn, "broken", "40 of 1000 calls failed in the last minute", "40 UNAVAILABLE"},
				{warn, "busy", "the upstream said so to 10 of 1000 attempts in the last minute", ""},
			},
		},
		"429 is no other 4xx": {
			func(_ *Upstream, w *window) { w.outcomes["429"], w.outcomes["4xx"] = 50, 100 },
			findings{{bad, "busy", "the upstream said so to 50 of 1000 attempts in the last minute", ""}},
		},
		"churn and leaks": {
			func(_ *Upstream, w *window) { w.dials, w.leaked = map[string]uint64{"2xx": 0, "connect": 200}, 1 },
			findings{
				{warn, "leaking", "1 body nobody closed; each held its place until the deadline", ""},
				{warn, "reconnecting", "200 dials for 1000 attempts", ""},
			},
		},
		"a pool that warms": {
			func(u *Upstream, w *window) {
				u.Idle, u.Active, w.attempts, w.dials = 20, 4, 30, map[string]uint64{"2xx": 24}
			},
			findings{{fine, "ok", "needs 6 of 24 places", ""}},
		},
		"broken before what comes of it": {
			func(u *Upstream, w *window) { u.Required, u.Queued, w.outcomes["connect"] = 30, 3, 900 },
			findings{
				{bad, "broken", "900 of 1900 calls failed in the last minute", "900 connect"},
				{bad, "mis-sized", "queueing: needs 30 places, has 24", "3 wait"},
			},
		},
		"not warm": {
			func(u *Upstream, _ *window) { u.Degraded = "dial tcp: connection refused" },
			findings{{warn, "degraded", "the process takes traffic without it: it is not warm", "dial tcp: connection refused"}},
		},
		"observe mode": {
			func(u *Upstream, w *window) { u.Observing, w.observed = true, map[string]uint64{"wait": 12} },
			findings{{note, "observe mode", "would have refused 12 of 1000 calls in the last minute", "12 waited in vain"}},
		},
		"draining": {
			func(u *Upstream, w *window) {
				u.Draining, u.Required = true, 100
				w.refused, w.outcomes["closed"] = map[string]uint64{"closed": 50}, 50
			},
			findings{{note, "draining", "takes no more; 5 in flight", ""}},
		},
	} {
		u, w := quiet()
		c.change(&u, &w)
		if got := judgeUpstream(u, w); !slices.Equal(got, c.want) {
			t.Errorf("%s: judgeUpstream() =\n%q, want\n%q", name, got, c.want)
		}
	}
}

// The page and the metrics must agree on what is a failure.
func TestFailuresAreThoseOfTheMetrics(t *testing.T) {
	for o := range telemetry.Outcomes {
		counted := slices.Contains(failures, o.String()) || o == telemetry.Timeout
		if counted != o.Failed() {
			t.Errorf("%v counts as a failure: %v, want %v", o, counted, o.Failed())
		}
	}
}

func TestADoorSaysThatItIsShut(t *testing.T) {
	d := Door{Shut: true}
	d.Queued = 3
	if got, want := judgeDoor(d, window{}), (findings{{warn, "shut", "not opened yet; 3 wait", ""}}); !slices.Equal(got, want) {
		t.Errorf("judgeDoor(shut) = %q, want %q", got, want)
	}
	d = Door{}
	d.Places, d.Required = 64, 90
	w := window{seconds: 10, outcomes: map[string]uint64{"2xx": 80, "busy": 20, "timeout": 5}}
	want := findings{
		{bad, "busy", "queueing: needs 90 places, has 64", "nobody waits just now"},
		{bad, "busy", "20 of 105 calls refused here in the last 10 s", ""},
		{warn, "slow", "5 of 105 requests ran out of time in the last 10 s", ""},
	}
	if got := judgeDoor(d, w); !slices.Equal(got, want) {
		t.Errorf("judgeDoor(busy) =\n%q, want\n%q", got, want)
	}
}

func TestAGateSaysWhatItWaitsFor(t *testing.T) {
	passed := Check{Name: "a", Passed: true}
	for name, c := range map[string]struct {
		gate  Gate
		shown string
		want  findings
	}{
		"open": {Gate{State: "ready", Checks: []Check{passed}}, "", findings{{fine, "ready", "1 check passed", ""}}},
		"open without": {Gate{State: "ready", Checks: []Check{passed, {Name: "b", Passed: true, Degraded: true, Err: "connection refused"}}}, "",
			findings{{warn, "degraded", "open without b", "connection refused"}}},
		"open without what has a row of its own": {Gate{State: "ready", Checks: []Check{{Name: "b", Passed: true, Degraded: true, Err: "connection refused"}}}, "b",
			findings{{note, "degraded", "open without b", "connection refused"}}},
		"draining": {Gate{State: "draining"}, "", findings{{note, "draining", "closed for good; the balancer sends no more", ""}}},
		"not run":  {Gate{State: "warming"}, "", findings{{warn, "warming", "every check has passed; Run has not opened the gate", ""}}},
		"warming": {Gate{State: "warming", Checks: []Check{passed, {Name: "b", Took: 3 * time.Second}}}, "",
			findings{{warn, "warming", "b, for 3 s so far", ""}}},
		"stuck": {Gate{State: "warming", Checks: []Check{{Name: "b", Took: time.Minute}}}, "",
			findings{{bad, "not ready", "b has been warming for 60 s", ""}}},
		"failing": {Gate{State: "warming", Checks: []Check{{Name: "b", Took: 1500 * time.Millisecond, Attempts: 4, Err: "connection refused"}}}, "",
			findings{{bad, "not ready", "b has failed 4 times in 1.5 s", "connection refused"}}},
	} {
		if got := judgeGate(c.gate, func(upstream string) bool { return upstream == c.shown }); !slices.Equal(got, c.want) {
			t.Errorf("%s: judgeGate() = %q, want %q", name, got, c.want)
		}
	}
}

// fake is a subject with a finding.
func fake(kind, name string, l level, word string, tenths int) *subject {
	return &subject{ID: kind + "/" + name, Kind: kind, Name: name, Level: l, Findings: findings{{l, word, "so it is", ""}}, tenths: tenths}
}

func TestTheFirstLineNamesTheCause(t *testing.T) {
	calm := fake("upstream", "calm", fine, "ok", 0)
	for name, c := range map[string]struct {
		subjects []*subject
		want     string
	}{
		"who is hurt most": {
			[]*subject{fake("upstream", "audit", bad, "broken", 1), calm, fake("upstream", "ledger", bad, "slow", 9)},
			"ledger is slow – so it is (and 1 more in trouble)",
		},
		"not the door that is full for it": {
			[]*subject{fake("door", "checkout", bad, "busy", 9), calm, fake("upstream", "ledger", warn, "slow", 0)},
			"ledger is slow – so it is (and 1 more in trouble)",
		},
		"the door if no upstream is in trouble": {
			[]*subject{fake("door", "checkout", bad, "busy", 1), calm, fake("upstream", "ledger", warn, "leaking", 0)},
			"checkout is busy – so it is (and 1 more in trouble)",
		},
		"the gate before all": {
			[]*subject{fake("gate", "readiness", bad, "not ready", 0), fake("upstream", "ledger", bad, "broken", 9)},
			"readiness is not ready – so it is (and 1 more in trouble)",
		},
	} {
		if got := newDocument(time.Time{}, c.subjects).Headline; got != c.want {
			t.Errorf("%s: headline = %q, want %q", name, got, c.want)
		}
	}
}
