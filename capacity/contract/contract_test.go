package contract

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func load(t *testing.T, environment string) *Contract {
	t.Helper()
	c, err := Load(filepath.Join("testdata", "offtake.yaml"), environment)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReadsEveryUnit(t *testing.T) {
	c := load(t, "")
	processor, fraud := c.Upstreams["card-processor"], c.Upstreams["fraud-check"]
	for what, ok := range map[string]bool{
		"a rate per minute":  fraud.Rate == 120,
		"a time":             processor.P99 == 1200*time.Millisecond,
		"a share":            fraud.RetryShare == 0.05,
		"no queue":           c.Door.Queue == capacity.NoQueue,
		"a number of pods":   c.Replicas.Surge == capacity.Pods{Count: 1},
		"a status as a word": c.Door.Busy == "429",
		"a day":              c.Ignore[0].Expires.String() == "2027-06-30",
		"a name with shares": c.Callers["checkout"].Zones["a"] == 0.7,
		"a quoted version":   c.Mesh.Version == "1.29",
	} {
		if !ok {
			t.Errorf("Load does not read %s: %+v", what, c)
		}
	}
}

func TestDerivesWhatIsNotStated(t *testing.T) {
	c := load(t, "")
	p, err := c.Plan("card-processor")
	if err != nil || p.Deadline != 7200*time.Millisecond || p.Attempts != 2 || p.InFlight != 27 {
		t.Errorf("Plan(card-processor) = %v, %v, want 2 attempts within 7.2s, nine tenths of the caller's 8s, and the 27 places that 1.2s and its retries need", p, err)
	}
	p, err = c.Plan("fraud-check")
	if err != nil || p.Deadline != 500*time.Millisecond || p.Attempts != 1 || p.RetryShare != 0.05 || p.Connections != 1 {
		t.Errorf("Plan(fraud-check) = %v, %v, want what is stated", p, err)
	}
	if p, err := c.Plan("nobody"); err == nil || !strings.Contains(err.Error(), "card-processor") {
		t.Errorf("Plan(nobody) = %v, %v, want an error that names the upstreams", p, err)
	}
	door, err := c.Door.Plan()
	if err != nil || door.InFlight != 64 || door.Queue != capacity.NoQueue {
		t.Errorf("Door.Plan() = %v, %v, want 64 in flight and no queue", door, err)
	}
}

func TestAnEnvironmentChangesOnlyWhatItNames(t *testing.T) {
	base, staging := load(t, ""), load(t, "staging")
	if staging.Environment != "staging" || staging.Replicas.Min != 2 || staging.Upstreams["card-processor"].Rate != 5 {
		t.Errorf("staging = %+v, want its own replicas and rate", staging)
	}
	if staging.Replicas.Surge != base.Replicas.Surge || staging.Upstreams["card-processor"].P50 != base.Upstreams["card-processor"].P50 ||
		!equal(staging.Upstreams["fraud-check"], base.Upstreams["fraud-check"]) {
		t.Errorf("staging = %+v, want the rest of %+v", staging, base)
	}
	if base.Upstreams["card-processor"].Rate != 120 {
		t.Errorf("base rate = %v, want 120/s: an overlay must not reach the base", base.Upstreams["card-processor"].Rate)
	}
}

func equal(a, b Upstream) bool {
	return a.Target == b.Target && a.Rate == b.Rate && a.Deadline == b.Deadline
}

func TestUnknownEnvironmentNamesTheNearest(t *testing.T) {
	_, err := Load(filepath.Join("testdata", "offtake.yaml"), "stagign")
	if err == nil || !strings.Contains(err.Error(), "did you mean staging") {
		t.Errorf("Load(stagign) = %v, want staging named", err)
	}
}

func TestAllMistakesComeAtOnceWithTheirPlace(t *testing.T) {
	const file = `service: Checkout
replicas: {min: 6, maximum: 9}
callers:
  web: {deadline: 8, rate: 120}
upstreams:
  card-processor:
    target: processor.example
    rate: 120/s
    latencyy: 300ms
    p50: 300
    headrom: 1.3
    waitChance: 5
    limit: two hundred
    limit: 200
    queue: 0
    attempts: [2]
    protocol: http3
    idempotent: yes
    retryShare: 150%
  Bad_Name: {}
environments:
  prod: {upstreams: {card-processor: {rat: 5/s}}}
`
	_, err := Parse("offtake.yaml", []byte(file), "")
	want := []string{
		`offtake.yaml:2:20: replicas.maximum: the key is not known; one of min, max, surge, unavailable, draining would do`,
		`offtake.yaml:4:19: callers.web.deadline: "8" has no unit; 8s would do, or 8ms`,
		`offtake.yaml:4:28: callers.web.rate: "120" has no unit of time; 120/s would do, or /m, or /h`,
		`offtake.yaml:9:5: upstreams.card-processor.latencyy: the key is not known; did you mean latency`,
		`offtake.yaml:10:10: upstreams.card-processor.p50: "300" has no unit; 300s would do, or 300ms`,
		`offtake.yaml:11:5: upstreams.card-processor.headrom: the key is not known; did you mean headroom`,
		`offtake.yaml:12:17: upstreams.card-processor.waitChance: "5" has no unit; 5% would do, or 500%`,
		`offtake.yaml:13:12: upstreams.card-processor.limit: "two hundred" is not a whole number in [0, 1000000000]; 10 would do`,
		`offtake.yaml:14:5: upstreams.card-processor.limit: it stands a second time; the first is in line 13`,
		`offtake.yaml:15:12: upstreams.card-processor.queue: "0" is not a number of calls; 10 would do, or none`,
		`offtake.yaml:16:15: upstreams.card-processor.attempts: it is a list; a single value would do`,
		`offtake.yaml:17:15: upstreams.card-processor.protocol: "http3" is not known; did you mean http1`,
		`offtake.yaml:18:17: upstreams.card-processor.idempotent: "yes" is neither true nor false`,
		`offtake.yaml:19:17: upstreams.card-processor.retryShare: "150%" is more than the whole; 100% would do`,
		`offtake.yaml:20:3: upstreams: "Bad_Name" is not a name; lower-case letters, digits and hyphens would do`,
		`offtake.yaml:22:39: environments.prod.upstreams.card-processor.rat: the key is not known; did you mean rate`,
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("Parse reports\n%s\nwant\n%s", err, strings.Join(want, "\n"))
	}
}

func TestMistakesAroundEnvironments(t *testing.T) {
	const file = "service: a\nreplicas: {min: 1}\nenvironments: {live: {}}\n"
	for text, want := range map[string]string{
		file + "environments: {tests: {}}\n":          "f:4:1: environments: it is empty or stands twice; a name with an overlay would do",
		strings.Replace(file, "live", "Live Site", 1): `f:3:16: environments: "Live Site" is not a name; lower-case letters, digits and hyphens would do`,
		file + "# " + strings.Repeat("x", 1<<20):      "f:1:1: the file has more than 1048576 bytes",
	} {
		if _, err := Parse("f", []byte(text), ""); err == nil || err.Error() != want {
			t.Errorf("Parse(%.80q…) = %v, want %s", text, err, want)
		}
	}
}

func TestTheHastiestCallerDecides(t *testing.T) {
	c, err := Parse("f", []byte("service: a\nreplicas: {min: 1}\ncallers: {b: {deadline: 8s}, c: {deadline: 4s}, d: {}, e: {deadline: 6s}}\nupstreams: {u: {target: 'http://u', rate: 1/s, latency: 10ms}}\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	if p, err := c.Plan("u"); err != nil || p.Deadline != 3600*time.Millisecond {
		t.Errorf("Plan(u) = %v, %v, want nine tenths of c's 4s", p, err)
	}
}

func TestMistakesOfTheSizesPointAtTheirKeys(t *testing.T) {
	const head = "service: a\nreplicas: {min: 6}\n"
	for _, c := range []struct{ name, file, want string }{
		{"a rate without a latency", head + "upstreams:\n  b: {target: 'http://b', rate: 1/s}\n", "4:3: upstreams.b.latency: it is missing"},
		{"a version that is none", head + "mesh: {version: latest}\n", `3:17: mesh.version: "latest" is not a version; "1.29" would do`},
		{"half a version", head + "mesh: {version: '2'}\n", `3:17: mesh.version: "2" is not a version`},
		{"neither a rate nor places", head + "upstreams:\n  b: {target: 'http://b'}\n", "4:3: upstreams.b.rate: it is missing"},
		{"percentiles the wrong way round", head + "upstreams:\n  b: {target: 'http://b', rate: 1/s, p50: 2s, p99: 1s}\n", "4:52: upstreams.b.p99: 1s is less than the p50 of 2s; 2s would do"},
		{"both kinds of latency", head + "upstreams:\n  b: {target: 'http://b', rate: 1/s, latency: 1s, p50: 1s}\n", "4:47: upstreams.b.latency: it is stated beside p50 and p99, which give another mean; latency alone would do, or p50 and p99"},
		{"most replicas below the least", "service: a\nreplicas: {min: 3, max: 2}\n", "2:25: replicas.max: 2 is less than replicas.min, 3; 3 would do"},
		{"too many connections", head + "upstreams:\n  b: {target: 'http://b', inFlight: 2, streams: 2, connections: 9}\n", "4:65: upstreams.b.connections: 9 is not in [1, 2] for inFlight 2 with streams 2"},
		{"attempts that do not fit", head + "upstreams:\n  b: {target: 'http://b', inFlight: 1, deadline: 2s, attempt: 1500ms, attempts: 2}\n", "4:63: upstreams.b.attempt: 2 attempts of 1.5s do not fit into the deadline of 2s"},
		{"a deadline below the mean", head + "upstreams:\n  b: {target: 'http://b', rate: 1/s, latency: 2s, deadline: 1s}\n", "4:61: upstreams.b.deadline: 1s leaves 900ms"},
		{"a caller who leaves too early", head + "callers: {c: {deadline: 1s}}\nupstreams:\n  b: {target: 'http://b', rate: 1/s, latency: 2s}\n", "3:25: callers.c.deadline: 1s leaves 810ms"},
		{"a deadline of 60,000 s", head + "callers: {c: {deadline: 60000s}}\nupstreams:\n  b: {target: 'http://b', rate: 1/s, latency: 2s}\n", "3:25: callers.c.deadline: 16h40m0s is over 1h0m0s"},
		{"more warm connections than there are", head + "upstreams:\n  b: {target: 'http://b', inFlight: 2, warm: {connections: 3}}\n", "4:60: upstreams.b.warm.connections: 3 is more"},
		{"replicas without an upstream", "service: a\nreplicas: {min: 0, max: -1}\n", "2:25: replicas.max: \"-1\" is not a whole number"},
		{"no replicas", "service: a\nreplicas: {min: 0}\n", "2:17: replicas.min: 0 is not in [1, 100000]"},
		{"a share of pods above all", "service: a\nreplicas: {min: 2, surge: 900%}\n", "2:27: replicas.surge: 900% is not in"},
		{"more connections than a process has", head + "upstreams:\n  b: {target: 'http://b', inFlight: 1, client: {maxConns: 2000000}}\n", "4:59: upstreams.b.client.maxConns: 2000000 connections"},
		{"a whole rollout at once", "service: a\nreplicas: {min: 2, unavailable: 100%}\nupstreams:\n  b: {target: 'http://b', rate: 1/s, latency: 2s}\n", "2:33: replicas.unavailable: 100% takes away all"},
		{"a door without places", head + "door: {queue: 3}\n", "3:7: door.inFlight: it is required"},
		{"a grpc target with a scheme", head + "upstreams:\n  b: {target: 'https://b', protocol: grpc, inFlight: 1}\n", "4:15: upstreams.b.target: \"https://b\" is not a grpc target"},
		{"a target with a path", head + "upstreams:\n  b: {target: 'https://b:8443/v1', inFlight: 1}\n", `4:15: upstreams.b.target: "https://b:8443/v1" has more than a host; https://b:8443 would do`},
		{"a target with a user", head + "upstreams:\n  b: {target: 'https://me:secret@b', inFlight: 1}\n", `4:15: upstreams.b.target: "https://me:xxxxx@b" has more than a host; https://b would do`},
		{"zones that do not add up", head + "callers: {c: {zones: {x: 70%, y: 20%}}}\n", "3:22: callers.c.zones: the shares add up to 90%"},
		{"a degraded latency below the mean", head + "upstreams:\n  b: {target: 'http://b', rate: 1/s, latency: 2s, degraded: 1s}\n", "4:61: upstreams.b.degraded: 1s is less"},
		{"a number too large", head + "upstreams:\n  b: {target: 'http://b', rate: 1/s, latency: 1s, headroom: 1e400}\n", `4:61: upstreams.b.headroom: "1e400" is more than a number can be`},
		{"an anchor", head + "callers: {c: &x {deadline: 1s}}\n", "3:14: callers.c: anchors and aliases are not read"},
		{"an empty value", head + "door:\n", "3:6: door: the value is empty"},
		{"a merge key", head + "callers: {<<: {}}\n", "3:11: callers: merge keys are not read"},
		{"an empty file", "", "1:1: the file is empty"},
		{"a list", "[]", "1:1: it is a list, not a mapping"},
		{"two documents", head + "---\nservice: b\n", "3:1: a second document begins"},
		{"bad syntax", "service: a\n b: c", "2:1: mapping values are not allowed"},
		{"an absurd number", head + "upstreams:\n  b: {target: 'http://b', inFlight: 99999999999999999999}\n", "4:37: upstreams.b.inFlight: \"99999999999999999999\" is not a whole number"},
		{"an expiry without a day", head + "ignore: [{rule: C01, reason: x, expires: soon}]\n", "3:42: ignore[0].expires: \"soon\" is not a day"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("f", []byte(c.file), "")
			if err == nil || !strings.HasPrefix(err.Error(), "f:"+c.want) {
				t.Errorf("Parse = %v, want f:%s…", err, c.want)
			}
			if _, ok := errors.AsType[*Mistake](err); !ok {
				t.Errorf("Parse = %T, want a *Mistake in its chain", err)
			}
		})
	}
}

func TestAnInfeasibleDemandIsNoMistakeOfTheFile(t *testing.T) {
	const file = "service: a\nreplicas: {min: 6}\nupstreams:\n  b: {target: 'http://b', rate: 120/s, latency: 1200ms, limit: 200}\n"
	c, err := Parse("f", []byte(file), "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Plan("b")
	if _, ok := errors.AsType[*capacity.Infeasible](err); !ok || !strings.HasPrefix(err.Error(), "f:4:3: upstream b: ") {
		t.Errorf("Plan(b) = %v, want an *Infeasible with its place", err)
	}
}

func TestJSONReadsLikeYAML(t *testing.T) {
	const file = "{\n\t\"service\": \"a\",\n\t\"replicas\": {\"min\": 6, \"surge\": \"25%\"},\n\t\"upstreams\": {\"b\": {\"target\": \"http:\\/\\/b\", \"inFlight\": 3, \"headroom\": 1.5, \"idempotent\": true}}\n}"
	c, err := Parse("f.json", []byte(file), "")
	if err != nil || c.Upstreams["b"].Target != "http://b" || !c.Upstreams["b"].Idempotent || c.Replicas.Surge.Percent != 25 || c.Upstreams["b"].Headroom != 1.5 {
		t.Errorf("Parse(%s) = %+v, %v", file, c, err)
	}
	_, err = Parse("f.json", []byte(strings.Replace(file, "inFlight", "inflght", 1)), "")
	if want := "f.json:4:"; err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), "did you mean inFlight") {
		t.Errorf("Parse = %v, want %s… with inFlight", err, want)
	}
}

func TestPositionFallsBackToTheMappingAround(t *testing.T) {
	c := load(t, "staging")
	for path, line := range map[string]int{
		"upstreams.card-processor.rate":    46,
		"upstreams.card-processor.p50":     21,
		"upstreams.card-processor.attempt": 18,
		"service":                          2,
		"nowhere":                          2,
	} {
		if got := c.Position(path); got.Line != line {
			t.Errorf("Position(%s) = %v, want line %d", path, got, line)
		}
	}
}

func TestLoadNamesTheMissingFile(t *testing.T) {
	if _, err := Load("testdata/none.yaml", ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Load = %v, want a missing file", err)
	}
}

func TestProtocolsThatShareConnectionsHaveStreams(t *testing.T) {
	for protocol, want := range map[string]int{"http1": 1, "http2": 100, "grpc": 100} {
		target := map[bool]string{true: "fraud.example:443", false: "https://fraud.example"}[protocol == "grpc"]
		c, err := Parse("offtake.yaml", []byte(`
service: checkout
replicas: {min: 1}
upstreams:
  fraud: {target: "`+target+`", protocol: `+protocol+`, inFlight: 150}
`), "")
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Plan("fraud")
		if err != nil {
			t.Fatal(err)
		}
		if p.Streams != want || p.Connections != (150+want-1)/want {
			t.Errorf("streams, connections over %s = %d, %d, want %d, %d", protocol, p.Streams, p.Connections, want, (150+want-1)/want)
		}
	}
}

func TestNearestIsAtMostAThirdAway(t *testing.T) {
	keys := []string{"retries", "timeout", "route", "rewrite"}
	for word, want := range map[string]string{"retires": "retries", "timout": "timeout", "retry": "retries", "Route": "route", "re": "", "mirror": ""} {
		if got := Nearest(word, keys); got != want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", word, keys, got, want)
		}
	}
	if got := Nearest("timer", []string{"timeout", "timestamps"}); got != "" {
		t.Errorf("Nearest of what two begin like = %q, want none", got)
	}
}
