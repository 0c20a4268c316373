package debug

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// secretive is an error that says more than the page may.
const secretive = `Get "https://user:secret@processor.example/secret?key=secret": EOF`

// rich is a source with every figure that there is; n is how many minutes it is old.
func rich(n *uint64) Source {
	seen := func(per float64, values ...float64) Histogram {
		h := histogramOf(values...)
		for i := range h.Counts {
			h.Counts[i] *= uint64(per) * *n
		}
		return h
	}
	counts := func(of map[string]uint64) map[string]uint64 {
		all := maps.Clone(of)
		for k := range all {
			all[k] *= *n
		}
		return all
	}
	return func() Snapshot {
		u := Upstream{
			Name: "card-processor", Target: "https://user:secret@processor.example/secret",
			Attempts: 600 * *n, Retries: counts(map[string]uint64{"status": 6}), RetryBalance: 3.25,
			Idle: 2, Active: 4, Oldest: 90 * time.Second, Dials: counts(map[string]uint64{"2xx": 3, "tls": 1}),
			ConnectWait: seen(100, 0, 0.02), HeaderWait: seen(100, 0.2), BodyRead: seen(100, 0.01), Leaked: 2 * *n, Degraded: secretive,
			Failures: []Failure{{Outcome: "reset", Text: secretive, At: time.Now().Add(-5 * time.Second)}},
			Flow: Flow{
				Plan: Plan{
					InFlight: 10, Connections: 10, Streams: 4, Queue: 5, Wait: 100 * time.Millisecond, Deadline: 5 * time.Second,
					Attempt: time.Second, Attempts: 3, RetryShare: 0.1, BodyIdle: 3 * time.Second, Warm: 2, Rate: 20, Latency: 100 * time.Millisecond,
				},
				InFlight: 4, Places: 10, Queued: 1, Required: 2, Rate: 10, Hold: 200 * time.Millisecond,
				QueueWait: seen(200, 0, 0, 0.06), Duration: seen(200, 0.3, 0.3, 30), Observing: true,
				Outcomes: counts(map[string]uint64{"2xx": 540, "reset": 36, "timeout": 24}),
				Refused:  counts(map[string]uint64{"wait": 3, "late": 1}), Observed: counts(map[string]uint64{"queue_full": 9}),
			},
		}
		return Snapshot{
			Upstreams: []Upstream{u},
			Doors:     []Door{{Name: "front", RetryAfter: 2 * time.Second, Flow: Flow{Places: 64, InFlight: 3, Required: 3}}},
			Gates: []Gate{{State: "warming", Checks: []Check{
				{Name: "pool", Passed: true, Attempts: 2, Took: 3 * time.Second},
				{Name: "audit", Passed: true, Degraded: true, Err: secretive},
				{Name: "ledger", Attempts: 4, Took: 1500 * time.Millisecond, Err: secretive},
			}}},
		}
	}
}

// aMinute reads a rich source when it is new and a minute later.
func aMinute(t *testing.T, accept string) string {
	t.Helper()
	var n uint64
	page := Handler(rich(&n))
	ask(page, "GET", "/", accept)
	<-time.After(time.Minute)
	n++
	return ask(page, "GET", "/", accept).Body.String()
}

func TestTheTableHasThePlanBesideWhatIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const want = `readiness is not ready – ledger has failed 4 times in 1.5 s (and 1 more in trouble)

gate readiness
  bad: not ready: ledger has failed 4 times in 1.5 s
    Get "https://processor.example/…": EOF
    pool    plan passes once  now passed after 3 s, at attempt 2
    audit   plan passes once  now passed over, to do without it: Get "https://processor.example/…": EOF
    ledger  plan passes once  now not yet, after 1.5 s and 4 failed attempts: Get "https://processor.example/…": EOF

upstream card-processor https://processor.example/…
  bad: broken: 36 of 600 calls failed in the last minute
    36 reset; the last: Get "https://processor.example/…": EOF
  warn: leaking: 2 bodies nobody closed; each held its place until the deadline
    the upstream answers: the p95 to its headers is 243 ms
  warn: slow: 24 of 600 calls ran out of time in the last minute
    the p95 of a call is more than 10 s
  warn: busy: 4 of 600 calls refused here in the last minute
    3 waited in vain, 1 too late to begin; 200 ms a call, planned 100 ms
  warn: degraded: the process takes traffic without it: it is not warm
    Get "https://processor.example/…": EOF
  note: observe mode: would have refused 9 of 600 calls in the last minute
    9 queue full
    places                 plan 10, full at a mean of 500 ms         now 4 of 10 in flight; the traffic needs 2
    queue                  plan 5                                    now 1 waits
    wait for a place       plan 100 ms                               now p50 0 s, p95 92.5 ms, p99 98.5 ms
    whole call             plan 5 s at most                          now p50 438 ms, p95 more than 10 s, p99 more than 10 s
    calls by outcome       plan –                                    now 540 2xx, 36 reset, 24 timeout in the last minute
    refused                plan –                                    now 3 waited in vain, 1 too late to begin in the last minute
    rate                   plan 20/s of 100 ms                       now 10/s, 200 ms in a place
    observe mode           plan –                                    now would have refused: 9 queue full in the last minute
    attempts               plan 3 at most, of 1 s each               now 10/s
    retries                plan 10 % of calls                        now 6 status in the last minute; the budget allows 3.25 now
    wait for a connection  plan –                                    now p50 0 s, p95 23.5 ms, p99 24.7 ms
    wait for headers       plan 1 s                                  now p50 175 ms, p95 243 ms, p99 249 ms
    reading the body       plan some each 3 s                        now p50 7.5 ms, p95 9.75 ms, p99 9.95 ms
    connections            plan 10 connections of 4 streams, 2 warm  now 2 idle, 4 active, the oldest 90 s
    dials by outcome       plan –                                    now 3 connected, 1 tls in the last minute
    bodies left open       plan –                                    now 2 leaked in the last minute
    last reset error, 5 s ago: Get "https://processor.example/…": EOF

door  front  ok  needs 3 of 64 places
`
		if got := aMinute(t, "*/*"); got != want {
			t.Errorf("the page reads\n%s\nwant\n%s", got, want)
		}
	})
}

func TestTheFiguresOfAMinuteAreInTheJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := aMinute(t, "application/json")
		if strings.Contains(body, "secret") {
			t.Errorf("the JSON shows what is secret:\n%s", body)
		}
		var d struct{ Subjects []map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(body), &d); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(d.Subjects, func(s map[string]json.RawMessage) bool { return string(s["id"]) == `"upstream/card-processor"` })
		for part, want := range map[string]string{
			"live":    `{"inFlight":4,"places":10,"required":2,"queued":1,"windowSeconds":60,"queueWaitSeconds":{"p50":0,"p95":0.0925,"p99":0.0985},"durationSeconds":{"p50":0.438,"p95":10,"p99":10},"outcomes":{"2xx":540,"reset":36,"timeout":24},"refused":{"late":1,"wait":3},"observed":{"queue_full":9},"retries":{"status":6}}`,
			"history": `{"everySeconds":10,"inFlight":[null,null,null,null,null,4],"places":[null,null,null,null,null,10],"required":[null,null,null,null,null,2],"queued":[null,null,null,null,null,1],"queueWaitP95":[null,null,null,null,null,0.0925],"callsPerSecond":[null,null,null,null,null,10],"failedPerSecond":[null,null,null,null,null,1],"refusedPerSecond":[null,null,null,null,null,0.0667]}`,
			"errors":  `[{"outcome":"reset","text":"Get \"https://processor.example/…\": EOF","ago":"5 s ago"}]`,
		} {
			if got := string(d.Subjects[i][part]); got != want {
				t.Errorf("%s = %s, want %s", part, got, want)
			}
		}
	})
}

func TestWhatAPanicOrAnOpenGateSaysIsCutToo(t *testing.T) {
	open := func() Snapshot {
		return Snapshot{Gates: []Gate{{State: "ready", Checks: []Check{{Name: "audit", Passed: true, Degraded: true, Err: secretive}}}}}
	}
	page := Handler(open, func() Snapshot { panic(secretive) })
	for _, accept := range []string{"*/*", "application/json"} {
		got := ask(page, "GET", "/", accept).Body.String()
		if strings.Contains(got, "secret") || strings.Count(got, "https://processor.example/…") < 2 {
			t.Errorf("GET with Accept %q = %s\nwant both errors, without what is secret", accept, got)
		}
	}
}
