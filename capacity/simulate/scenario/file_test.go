package scenario

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/capacity/simulate"
)

const payment = `service: payment-gateway
replicas: {min: 6, surge: 1, unavailable: 0}
callers:
  checkout: {rate: 120/s, deadline: 8s, attempts: 2, replicas: 3}
door: {inFlight: 80, busy: "503", probes: shared}
start: {time: 5s, warm: 8s, answers: "503", ready: process}
mesh: {panicThreshold: 50%, propagation: 2s, zones: 3}
upstreams:
  card-processor:
    target: https://processor.example
    rate: 120/s
    p50: 300ms
    p99: 1200ms
    limit: 200
    busy: "429"
`

func contractOf(t testing.TB, text string) *contract.Contract {
	t.Helper()
	c, err := contract.Parse("offtake.yaml", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTakesEverythingThatTheContractSays(t *testing.T) {
	c := contractOf(t, payment)
	f, err := Parse("s.yaml", []byte("contract: {file: offtake.yaml}\n"), c)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.Plan("card-processor")
	if err != nil {
		t.Fatal(err)
	}
	client, err := simulate.ClientOf(plan)
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Name: "s", Contract: Source{File: "offtake.yaml", Upstream: "card-processor"}, Seeds: 5, Settle: time.Minute, Duration: 10 * time.Minute,
		Callers: simulate.Callers{Rate: 120, Count: 3, Attempts: 2, Timeout: 8 * time.Second},
		Proxy:   simulate.Proxy{PanicThreshold: 50},
		Service: simulate.Service{
			Replicas: 6, Zones: 3, Client: client, StopsWhenAbandoned: true,
			Door:  simulate.Gate{Places: 80, Queue: 80, Wait: 100 * time.Millisecond},
			Start: 5 * time.Second, WarmUp: 8 * time.Second, EndpointDelay: 2 * time.Second, PreStop: 2 * time.Second,
			Liveness: simulate.Liveness{SharesPool: true},
		},
		Upstream: simulate.Upstream{
			Latency: simulate.Latency{P50: 300 * time.Millisecond, P99: 1200 * time.Millisecond},
			Limit:   200, Refusal: simulate.Answer429,
		},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("Parse =\n%+v\nwant\n%+v", f, want)
	}
}

func TestAClientThatSizesNothingIsTakenAsItIs(t *testing.T) {
	c := contractOf(t, strings.Replace(payment, "limit: 200", "client: {maxConns: 10}", 1))
	s, err := Of(c, "card-processor")
	if err != nil {
		t.Fatal(err)
	}
	want := simulate.Client{Pool: simulate.Gate{Places: 10, Queue: simulate.Unbounded}, Deadline: 24 * time.Hour}
	if s.Service.Client != want || s.Service.StopsWhenAbandoned {
		t.Errorf("client = %+v, stops when abandoned: %t, want %+v and false", s.Service.Client, s.Service.StopsWhenAbandoned, want)
	}
}

func TestAnInfeasibleContractIsSimulatedAtItsBest(t *testing.T) {
	c := contractOf(t, strings.Replace(payment, "rate: 120/s\n    p50", "rate: 1200/s\n    p50", 1))
	s, err := Of(c, "card-processor")
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Service.Client.Pool.Places; p < 1 || 6*p > 200 {
		t.Errorf("places = %d in each of 6 replicas, want some within the limit of 200", p)
	}
}

func TestTheFileOverridesTheContract(t *testing.T) {
	f, err := Parse("s.yaml", []byte(`
contract: {file: offtake.yaml}
callers: {load: [{at: 0s, rate: 10/s}, {at: 1m, rate: 20.5/s}], retryShare: 20%}
proxy: {pick: leastRequest, outlier: {consecutive5xx: off, capRule: atLeastOne}}
service: {door: {queue: unbounded}, warming: queue}
upstream: {latency: {mean: 1s, cv: 0.5}}
events:
  - {at: 90s, hang: 5%, wedge: [1, 2], rollout: {maxSurge: 25%, maxUnavailable: 1}}
`), contractOf(t, payment))
	if err != nil {
		t.Fatal(err)
	}
	s := f.Scenario()
	switch {
	case s.Callers.Rate != 0 || s.Callers.Load[1] != simulate.Point{At: time.Minute, Rate: 20.5} || s.Callers.Attempts != 2:
		t.Errorf("callers = %+v, want the load instead of the rate, and 2 attempts from the contract", s.Callers)
	case s.Proxy.Pick != simulate.LeastRequest || s.Proxy.Outlier.Consecutive5xx != simulate.Off || s.Proxy.Outlier.CapRule != simulate.CapAtLeastOne:
		t.Errorf("proxy = %+v with %+v, want what the file says", s.Proxy, *s.Proxy.Outlier)
	case s.Service.Door.Places != 80 || s.Service.Door.Queue != simulate.Unbounded || s.Service.Warming != simulate.Wait:
		t.Errorf("service = %+v, want an unbounded queue before the contract's 80 places", s.Service)
	case s.Upstream.Latency.Mean != time.Second || s.Upstream.Latency.P50 != 0 || s.Upstream.Limit != 200:
		t.Errorf("upstream = %+v, want the file's latency and the contract's limit", s.Upstream)
	case *s.Events[0].Hang != 0.05 || s.Events[0].Rollout.MaxSurge.Percent != 25 || s.Events[0].Rollout.MaxUnavailable.Count != 1:
		t.Errorf("event = %+v, want what the file says", s.Events[0])
	}
}

func TestAllMistakesComeAtOnceWithTheirPlace(t *testing.T) {
	for _, test := range []struct{ file, want string }{
		{
			"contract: {file: offtake.yaml}\nsedes: 5\ncallers: {rate: 120}\nproxy:\n  outlier: {consecutive5xx: never, maxEjectionPercnt: 40}\nevents:\n- {at: 5, latency: 300ms}\n",
			`s.yaml:2:1: sedes: the key is not known; did you mean seeds
s.yaml:3:17: callers.rate: "120" has no unit; 120/s would do
s.yaml:5:29: proxy.outlier.consecutive5xx: "never" is not a number of errors in a row; 5 would do, or off
s.yaml:5:36: proxy.outlier.maxEjectionPercnt: the key is not known; did you mean maxEjectionPercent
s.yaml:7:8: events[0].at: "5" has no unit; 5s would do, or 5ms
s.yaml:7:20: events[0].latency: it is "300ms", not a mapping of keys to values`,
		},
		{
			"contract: {file: offtake.yaml}\nduration: 1m\nproxy: {retryOn: [503, 404]}\nupstream: {latency: {mean: 1s, p50: 1s, cv: 1}}\nevents:\n- {at: 1h, wedge: [0]}\n",
			`s.yaml:3:24: proxy.retryOn[1]: no replica answers 404; 429, 500, 502, 503 or 504 would do
s.yaml:4:21: upstream.latency: it has 2 of its four forms; P50 with P99, Mean with CV, Exponential, or Samples would do
s.yaml:6:8: events[0].at: 1h0m0s is not within the run, which ends at 2m0s; 1m0s would do
s.yaml:6:20: events[0].wedge[0]: 0 is not in [1, 10000]: replicas count from 1; 1 would do`,
		},
		{"contract: {file: offtake.yaml, upstream: card-procesor}", `s.yaml:1:42: contract.upstream: "card-procesor" is no upstream of payment-gateway; one of card-processor would do`},
		{"contract: {file: offtake.yaml}\ncallers: {rate: 0/s}", `s.yaml:2:17: callers.rate: 0/s is not over 0 and up to 1e+06/s, and no Load says how it changes; 100/s would do`},
		{"contract: {file: offtake.yaml}\nseeds: 5000", `s.yaml:2:8: seeds: 5000 is not in [1, 1000]; 5 would do`},
		{"name: x", `s.yaml:1:1: contract: it is required`},
		{" \n", `s.yaml:1:1: the file is empty; "contract: {file: offtake.yaml}" would begin it`},
	} {
		_, err := Parse("s.yaml", []byte(test.file), contractOf(t, payment))
		if err == nil || err.Error() != test.want {
			t.Errorf("Parse(%q) =\n%v\nwant\n%s", test.file, err, test.want)
		}
		if _, ok := errors.AsType[*contract.Mistake](err); !ok {
			t.Errorf("Parse(%q) has no Mistake in its error", test.file)
		}
	}
}

// A contract may state its places by hand, without the traffic to derive them from.
func TestTrafficThatNobodyStatedIsAskedFor(t *testing.T) {
	const byHand = "service: a\nreplicas: {min: 1}\nupstreams: {b: {target: https://b.example, inFlight: 6}}\n"
	_, err := Parse("s.yaml", []byte("contract: {file: offtake.yaml}"), contractOf(t, byHand))
	const want = "s.yaml:1:1: callers.rate: 0/s is not over 0 and up to 1e+06/s, and no Load says how it changes; 100/s would do\n" +
		"s.yaml:1:1: upstream.latency: it has 0 of its four forms; P50 with P99, Mean with CV, Exponential, or Samples would do"
	if err == nil || err.Error() != want {
		t.Errorf("Parse() = %v, want %s", err, want)
	}
}

func TestLoadNamesTheMissingContract(t *testing.T) {
	if _, err := Load("missing.yaml"); err == nil || !strings.Contains(err.Error(), "missing.yaml") {
		t.Errorf("Load = %v, want an error that names the file", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("contract: {file: a}\nproxy: {outlier: {interval: 1s}}\nevents: [{at: 1s, rollout: {maxSurge: 25%}}]")
	f.Add("contract: {file: a}\ncallers: {load: [{at: 0s, rate: 1e3/s}], zoneShares: [70%, 30%]}")
	f.Add("contract: {file: a}\nservice: {door: {queue: none}, warming: 429}\nupstream: {latency: {samples: [1s, 2s]}}")
	c := contractOf(f, payment)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("s.yaml", []byte(text), c)
		if err != nil {
			return
		}
		if _, err := file.Scenario().Resolve(); err != nil {
			t.Errorf("Parse takes what Resolve refuses: %v", err)
		}
	})
}

func TestReadsTheFaultsAndPoliciesOfAReplica(t *testing.T) {
	const text = `contract: {file: offtake.yaml}
proxy:
  pick: leastRequest
  healthCheck: {interval: 5s, unhealthy: 2}
  leaveOut: {failures: 2, most: 50%, pause: 1s}
  outlier: {enforcing: {consecutive5xx: 50%, successRate: 0%}}
events:
  - {at: 2m, slow: {replicas: 2, by: 20}}
`
	f, err := Parse("s.yaml", []byte(text), contractOf(t, payment))
	if err != nil {
		t.Fatal(err)
	}
	half, none := simulate.Share(0.5), simulate.Share(0)
	if got, want := f.Proxy.HealthCheck, (simulate.HealthCheck{Interval: 5 * time.Second, Unhealthy: 2}); got != want {
		t.Errorf("healthCheck = %+v, want %+v", got, want)
	}
	if got, want := *f.Proxy.LeaveOut, (simulate.LeaveOut{Failures: 2, Most: 0.5, Pause: time.Second}); got != want {
		t.Errorf("leaveOut = %+v, want %+v", got, want)
	}
	if got, want := f.Proxy.Outlier.Enforcing, (simulate.Enforcing{Consecutive5xx: &half, SuccessRate: &none}); !reflect.DeepEqual(got, want) {
		t.Errorf("enforcing = %+v, want %+v", got, want)
	}
	if got, want := *f.Events[0].Slow, (simulate.Slow{Replicas: 2, By: 20}); got != want {
		t.Errorf("slow = %+v, want %+v", got, want)
	}
	for bad, want := range map[string]string{
		"events: [{at: 2m, slow: {replicas: 0, by: 20}}]":           "events[0].slow.replicas",
		"events: [{at: 2m, slow: {replicas: 1, by: 0.5}}]":          "events[0].slow.by",
		"proxy: {healthCheck: {interval: 1s, timeout: 2s}}":         "proxy.healthCheck.timeout",
		"proxy: {leaveOut: {failures: -1}}":                         "proxy.leaveOut.failures",
		"proxy: {outlier: {enforcing: {consecutiveGateway: 200%}}}": "proxy.outlier.enforcing.consecutiveGateway",
	} {
		_, err := Parse("s.yaml", []byte("contract: {file: offtake.yaml}\n"+bad+"\n"), contractOf(t, payment))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want a mistake in %s", bad, err, want)
		}
	}
}
