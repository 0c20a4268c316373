package check

import (
	"slices"
	"strings"
	"testing"
)

func TestADetectorJudgesOnlyWhatItCounts(t *testing.T) {
	const contractText = "service: a\nreplicas: {min: 12, surge: 12}\nstart: {time: 1s, warm: 5s, answers: 503, ready: process}\n" +
		"callers: {c: {rate: 600/s, deadline: 1s, replicas: 1}}\ndoor: {inFlight: 8, latency: 20ms, busy: 503, deadline: 1s}\nmesh: {panicThreshold: 50%}\n"
	const mesh = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: a}\nspec: {host: a, trafficPolicy: {outlierDetection: {maxEjectionPercent: 100, WHAT}}}\n"
	for what, want := range map[string]bool{
		"consecutive5xxErrors: 5":                              true,
		"consecutive5xxErrors: 0, consecutiveGatewayErrors: 3": true,
		"consecutive5xxErrors: 0, splitExternalLocalOriginErrors: true, consecutiveLocalOriginFailures: 5":    false,
		"consecutive5xxErrors: 5, outlierDetectionHttpErrorCodes: [500]":                                      false,
		"consecutive5xxErrors: 5, outlierDetectionHttpErrorCodes: [503]":                                      true,
		"consecutive5xxErrors: 0, consecutiveGatewayErrors: 3, outlierDetectionHttpErrorCodes: [500,502,503]": true,
	} {
		w := worldWith(t, contractText, strings.Replace(mesh, "WHAT", what, 1), Options{})
		for _, rule := range []string{"O06", "O07", "O11"} {
			if got := len(only(w, rule)) > 0; got != want {
				t.Errorf("%s with %s fires: %v, want %v", rule, what, got, want)
			}
		}
	}
}

func TestAHookThatDoesSomethingElseIsNotTakenForNone(t *testing.T) {
	const pod = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 6, template: {spec: {containers: [{name: a, lifecycle: {preStop: HOOK}}]}}}\n"
	for hook, want := range map[string]string{
		"{sleep: {seconds: 3}}":                                       "preStop 3 s",
		"{exec: {command: [/bin/sleep, '3']}}":                        "preStop 3 s",
		"{exec: {command: [sh, -c, 'sleep 3; nginx -s quit']}}":       "preStop 3 s",
		"{exec: {command: [sh, -c, '(sleep 3s) && kill -s QUIT 1']}}": "preStop 3 s",
		"{exec: {command: [sh, -c, 'sleep 7; nginx -s quit']}}":       "",
		"{exec: {command: [/drain.sh]}}":                              "",
		"{httpGet: {path: /drain, port: 8080}}":                       "",
		"null":                                                        "preStop 0 s",
	} {
		found := only(worldOf(t, "http", strings.Replace(pod, "HOOK", hook, 1)), "K05")
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0].Evidence, want)) {
			t.Errorf("K05 with %s = %+v, want %q", hook, found, want)
		}
	}
}

func TestAnAutoscalerWithoutALeastNumberGoesDownToOne(t *testing.T) {
	const mesh = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 6}\n---\n" +
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\nspec: {maxReplicas: 9, scaleTargetRef: {kind: Deployment, name: a}}\n"
	if s := worldOf(t, "http", mesh).Service; s.Min != 1 || s.Max != 9 {
		t.Errorf("replicas = %d to %d, want 1 to 9", s.Min, s.Max)
	}
}

func TestABudgetIsMissedOnlyWhereRetriesCanPassTheLoad(t *testing.T) {
	const mesh = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: b}\nspec: {rules: [{backendRefs: [{name: b, port: 80}], timeouts: {request: 2s}, retry: {attempts: 1}}]}\n"
	const rated = "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://b', rate: 6000/s, latency: 100ms, degraded: 100ms}\n"
	const channel = `{"methodConfig": [{"name": [{}], "timeout": "1s", "retryPolicy": {"maxAttempts": 3, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
	channels := worldWith(t, "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'b:80', protocol: grpc, rate: 6/s, latency: 100ms}\n", channel, Options{})
	if found := only(channels, "R05"); len(found) != 0 {
		t.Errorf("R05 of a gRPC service config = %+v, want none: its throttling is no budget of a proxy", found)
	}
	for _, c := range []struct{ plane, contractText, want string }{
		{"envoy-gateway", strings.Replace(rated, "6000", "60000", 1), "no budget (max_retries 1024)"}, // 1000 in flight
		{"envoy-gateway", strings.Replace(rated, "6000", "63000", 1), ""},
		{"contour", rated, ""}, // 100 in flight of each proxy
		{"contour", "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://b', inFlight: 4}\n", ""},
		{"istio", "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://b', inFlight: 4}\n", "max_retries 4294967295"},
	} {
		found := only(worldWith(t, c.contractText, mesh, Options{Plane: ControlPlane(c.plane)}), "R05")
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || !strings.Contains(found[0].Evidence, c.want)) {
			t.Errorf("R05 on %s = %+v, want %q", c.plane, found, c.want)
		}
	}
}

func TestABreakerWantsItsCountersToo(t *testing.T) {
	const rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: b}\nspec: {host: b, trafficPolicy: {connectionPool: POOL}}\n---\n"
	const pod = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 6, template: {metadata: {annotations: {proxy.istio.io/config: '{proxyStatsMatcher: {inclusionRegexps: [\"MATCHER\"]}}'}}, spec: {containers: [{name: a}]}}}\n"
	for _, c := range []struct {
		pool, matcher string
		lines         []int
	}{
		{"{http: {http2MaxRequests: 100}}", ".*outlier_detection.*", []int{9}},
		{"{http: {http2MaxRequests: 100}}", ".*circuit_breakers.*", nil},
		{"{tcp: {connectTimeout: 1s}}", ".*outlier_detection.*", nil},
	} {
		mesh := strings.Replace(rule, "POOL", c.pool, 1) + strings.Replace(pod, "MATCHER", c.matcher, 1)
		if got := places(worldOf(t, "http", mesh), "M02"); !slices.Equal(got, c.lines) {
			t.Errorf("M02 of %s and %s at the lines %v, want %v", c.pool, c.matcher, got, c.lines)
		}
	}
}

func TestTheFirstDetectorHasTheFinding(t *testing.T) {
	const rule = "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {name: N}\nspec: {host: N, trafficPolicy: {outlierDetection: {interval: 10s}}}\n---\n"
	mesh := strings.ReplaceAll(rule, "N", "b") + strings.ReplaceAll(rule, "N", "a")
	if got := places(worldOf(t, "http", mesh), "M02"); !slices.Equal(got, []int{4}) {
		t.Errorf("M02 at the lines %v, want 4: one for the mesh, at the first of its calls", got)
	}
}

func TestMaxConnsPerHostDoesNotBoundHTTP2(t *testing.T) {
	const contractText = "service: a\nreplicas: {min: 4}\nupstreams:\n" +
		"  b: {target: 'http://b', protocol: http2, rate: 6000/s, p50: 100ms, p99: 110ms, degraded: 500ms, limit: 600, client: {maxConns: 2, timeout: 1s}}\n"
	w := worldWith(t, contractText, "", Options{})
	for _, rule := range []string{"C01", "C02", "C03", "C06", "C09", "C11", "C14"} {
		if found := only(w, rule); len(found) != 0 {
			t.Errorf("%s = %+v, want nothing: 2 connections are no limit, and calls share them", rule, found)
		}
	}
	if found := only(w, "C10"); len(found) != 1 || !strings.Contains(found[0].Evidence, "bounds only the dials") {
		t.Errorf("C10 = %+v, want that nothing bounds the connections", found)
	}
	if found := only(w, "C12"); len(found) != 1 || !strings.Contains(found[0].Evidence, "100 streams: 50.1") {
		t.Errorf("C12 = %+v, want 50 calls more than the 100 streams of one connection", found)
	}
	w = worldWith(t, strings.NewReplacer("protocol: http2, ", "", "maxConns: 2,", "maxConns: 20,").Replace(contractText), "", Options{})
	if found := only(w, "C01"); len(found) != 1 || !strings.HasPrefix(found[0].Evidence, "600.504 in flight") {
		t.Errorf("C01 of HTTP/1.1 = %+v, want it, in six digits", found)
	}
}

func TestNoCapIsNoRemedy(t *testing.T) {
	for rule, numbers := range map[string]string{
		"C03": `{"cap":1,"replicas":6,"limit":5}`,
		"C10": `{"conns":0,"pods":6,"limit":5}`,
		"K08": `{"cap":1,"maxr":6,"surge":5,"limit":5}`,
	} {
		if v := try(t, rule, numbers); v.Holds || v.Remedy == "" || strings.Contains(v.Remedy, " 0") {
			t.Errorf("%s = %+v, want a remedy without 0, which is no number of connections", rule, v)
		}
	}
}
