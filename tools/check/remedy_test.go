package check

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
)

func TestARemedyIsInTheWordsOfItsControlPlane(t *testing.T) {
	i := slices.IndexFunc(Rules(), func(r Rule) bool { return r.ID == "O03" })
	for plane, want := range map[string]string{"": "minHealthPercent", "istio": "minHealthPercent", "envoy": "healthy_panic_threshold", "envoy-gateway": "or panicThreshold"} {
		v, err := Rules()[i].Try([]byte(`{"n":20,"m":100,"thr":0,"plane":"` + plane + `"}`))
		if err != nil || v.Holds || !strings.Contains(v.Remedy, want) {
			t.Errorf("O03 on %q = %+v, %v, want %s in the remedy", plane, v, err, want)
		}
	}
}

// only is what one rule finds.
func only(w *World, id string) []Finding {
	return slices.DeleteFunc(w.Check(Baseline{}).Findings, func(f Finding) bool { return f.Rule != id })
}

func TestTheRemedyForRetriesIsOne(t *testing.T) {
	const rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a}\nspec: {host: a, trafficPolicy: {connectionPool: {tcp: {connectTimeout: 1s}}}}\n"
	const budget = "trafficPolicy: {retryBudget: {percent: 20}, connectionPool"
	// so slow that two attempts of each call just fit
	slow := func(mesh string) *World {
		w := worldOf(t, "http", mesh)
		c := &w.Calls[0]
		c.Degraded = float64(c.Pool.Cap*w.Service.Min) / (2 * c.Rate)
		return w
	}
	found := only(slow(rule), "R02")
	if len(found) != 1 || !strings.Contains(found[0].Remedy, "at most 2 attempts per call: by fewer, or by a retry budget of 50%") {
		t.Fatalf("R02 of 3 tries = %+v, want it with the budget that would do", found)
	}
	if found := only(slow(strings.Replace(rule, "trafficPolicy: {connectionPool", budget, 1)), "R02"); len(found) != 0 {
		t.Errorf("R02 with a retry budget = %+v, want none: it lets through 1.25 attempts", found)
	}
}

func TestOnlyALivenessProbeCanWaitForTooLong(t *testing.T) {
	const pod = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 6, template: {spec: {containers: [{name: a}]}}}\n"
	probed := strings.Replace(pod, "{name: a}]", "{name: a, livenessProbe: {httpGet: {path: /, port: 80}}}]", 1)
	for mesh, want := range map[string]int{pod: 0, probed: 1} {
		w := worldOf(t, "http", mesh)
		w.Contract.Door = &contract.Door{InFlight: 4, Queue: 60, Latency: 100 * time.Millisecond, Probes: "shared"}
		w.readDoor()
		if found := only(w, "K02"); len(found) != want {
			t.Errorf("K02 of %q = %+v, want %d", mesh, found, want)
		}
	}
}

func TestEnvoysTimeoutHoldsWhereNobodyStatesOne(t *testing.T) {
	w := worldOf(t, "http", strings.Replace(strings.TrimPrefix(attachedPolicy, "---\n"), "kind: HTTPRoute, name: web", "kind: Service, name: b", 1))
	w.Calls[0].ways[0].route = nil
	for deadline, want := range map[float64]int{14: 1, 16: 0} {
		w.Calls[0].Deadline, w.Calls[0].Attempt = deadline, deadline
		if found := only(w, "T06"); len(found) != want {
			t.Errorf("T06 with a deadline of %g s = %+v, want %d: the proxy's is 15 s", deadline, found, want)
		}
	}
}

func TestEvidenceOfTimeoutsNamesTheHops(t *testing.T) {
	found := only(worldOf(t, "http", "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a}\nspec: {host: a}\n"), "T03")
	if len(found) != 1 || found[0].Evidence != "timeouts [program 8 s, route 0 s]" {
		t.Errorf("T03 = %+v, want it with both hops named", found)
	}
}

func TestPausesThatFillTheDeadlineLeaveNoAttempt(t *testing.T) {
	v := attemptsWithin(5, 0.1, 0.4).verdict()
	if v.Holds || v.Remedy != "fewer than 5 attempts: the pauses between them alone take 0.525 s" {
		t.Errorf("5 attempts within 0.4 s = %+v, want a remedy without a negative time", v)
	}
}

// try is the verdict of a rule on numbers.
func try(t *testing.T, id, numbers string) Verdict {
	t.Helper()
	r, _ := RuleOf(id)
	v, err := r.Try([]byte(numbers))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestARemedyKeepsWithinItsBound(t *testing.T) {
	for _, c := range []struct{ rule, breaks, remedy, mended string }{
		{"C01", `{"rate":70,"lat":1.2,"pods":1,"cap":60}`, "latency to 0.8571 s", `{"rate":70,"lat":0.8571,"pods":1,"cap":60}`},
		{"C06", `{"cap":60,"rate":120,"degraded":1.2,"pods":6}`, "24 places in each replica", `{"cap":144,"rate":120,"degraded":1.2}`},
		{"C06", `{"cap":100,"rate":70,"degraded":1.5,"pods":1,"connected":1,"limit":100}`, "1.428 s at most: the 105 places that each replica would need are more than the limit allows, which is 100", `{"cap":100,"rate":70,"degraded":1.428}`},
		{"R02", `{"rate":120,"lat":1.2,"a":2,"cap":170}`, "at most 1.18 attempts", `{"rate":120,"lat":1.2,"a":1.18,"cap":170}`},
		{"R02", `{"rate":120,"lat":1.2,"a":2,"cap":145}`, "no retries", `{"rate":120,"lat":1.2,"a":1,"cap":145}`},
		{"T02", `{"n":3,"per":2,"back":0.1,"oh":0.15,"outer":3}`, "at most 0.9166 s", `{"n":3,"per":0.9166,"back":0.1,"oh":0.15,"outer":3}`},
		{"R06", `{"proxies":24,"minc":3,"l":36,"pct":20}`, "minRetryConcurrency 1", `{"proxies":24,"minc":1,"l":36,"pct":20}`},
		{"R07", `{"count":10,"proxies":24,"l":36}`, "count 1", `{"count":1,"proxies":24,"l":36}`},
		{"O10", `{"k":20,"p":0.5,"r":1}`, "threshold of 4 or less", `{"k":4,"p":0.5,"r":1}`},
		{"O13", `{"gw":5,"x":2}`, "consecutive5xxErrors 0, so", `{"gw":5,"x":0}`},
		{"K05", `{"pre":0,"prop":2.5}`, "sleep of 3 s", `{"pre":3,"prop":2.5}`},
	} {
		v := try(t, c.rule, c.breaks)
		if v.Holds || !strings.Contains(v.Remedy, c.remedy) {
			t.Errorf("%s %s = %+v, want %q in its remedy", c.rule, c.breaks, v, c.remedy)
		}
		if v := try(t, c.rule, c.mended); !v.Holds {
			t.Errorf("%s %s = %+v, want it to hold: its remedy says so", c.rule, c.mended, v)
		}
	}
	if v := try(t, "O10", `{"k":20,"p":0.5,"r":0.01}`); v.Remedy != "no detector: one proxy sends a host too few requests to tell" {
		t.Errorf("O10 of a host that hardly sees requests = %+v, want no number", v)
	}
}

func TestTwoServicesOfOneGRPCProbePortAreTwoQuestions(t *testing.T) {
	const pod = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 6, template: {spec: {containers: [{name: a, readinessProbe: {grpc: {port: 1, service: ready}}, livenessProbe: {grpc: {port: 1, service: live}}}]}}}\n"
	for mesh, want := range map[string]bool{pod: true, strings.ReplaceAll(pod, "service: ready", "service: live"): false} {
		if got := worldOf(t, "http", mesh).Service.Gated; got != want {
			t.Errorf("%s is gated: %v, want %v", mesh, got, want)
		}
	}
}

func TestADetectorOfNothingIsNone(t *testing.T) {
	const rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: b}\nspec: {host: b, trafficPolicy: {outlierDetection: {consecutive5xxErrors: 0, maxEjectionPercent: 100, MORE}}}\n"
	for more, want := range map[string]bool{
		"interval: 10s": false, "consecutiveGatewayErrors: 0": false, "consecutiveGatewayErrors: 3": true, "splitExternalLocalOriginErrors: true": true,
	} {
		if d := worldOf(t, "http", strings.Replace(rule, "MORE", more, 1)).Calls[0].Policy.Detector; (d != nil) != want {
			t.Errorf("detector with %s = %+v, want one: %v", more, d, want)
		}
	}
}

func TestASumOfCountersIsOneToo(t *testing.T) {
	for expr, want := range map[string]bool{
		"sum(envoy_cluster_lb_healthy_panic) > 0": false, "sum by (pod) (x_total{a=\"b\"}) >= 1": false, "max(x_total) without (pod) > 5": false,
		"sum(rate(x_total[5m])) > 0": true, "absent(x_total) == 1": true, "count(x_total) > 3": true, "sum(increase(x_total[5m])) by (pod) > 0": true,
	} {
		r, _ := RuleOf("M03")
		numbers, err := json.Marshal(map[string]string{"expr": expr})
		if err != nil {
			t.Fatal(err)
		}
		if v, err := r.Try(numbers); err != nil || v.Holds != want {
			t.Errorf("M03 of %s = %+v, %v, want holds %v", expr, v, err, want)
		}
	}
}

func TestAnAlertIsAtItsLine(t *testing.T) {
	const alerts = "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata: {name: a}\nspec:\n  groups:\n  - name: g\n    rules:\n    - alert: A\n      expr: sum(x_total) > 0\n"
	if got := places(worldOf(t, "http", alerts), "M03"); !slices.Equal(got, []int{9}) {
		t.Errorf("M03 at the lines %v, want 9", got)
	}
}
