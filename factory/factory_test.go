package factory

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
	"github.com/offtake-go/offtake/internal/loopback"
)

const one = `
service: checkout
replicas: {min: 2}
door: {inFlight: 8, wait: 50ms}
upstreams:
  processor: {target: %q, inFlight: 4, deadline: 2s, warm: {connections: 4}}
`

func TestAnUpstreamHasOneClient(t *testing.T) {
	s, _ := open(t, write(t, one, "http://127.0.0.1:1"), Options{})
	a, err := s.HTTP("processor")
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := s.HTTP("processor"); a != b {
		t.Error("HTTP(processor) twice = two clients, want one")
	}
	if got := a.Stats().Plan.InFlight; got != 4 {
		t.Errorf("InFlight = %d, want the file's 4", got)
	}
}

func TestAnUnknownUpstreamListsTheKnownOnes(t *testing.T) {
	s, _ := open(t, write(t, one, "http://127.0.0.1:1"), Options{})
	if _, err := s.HTTP("procesor"); err == nil || !strings.Contains(err.Error(), `"processor"`) {
		t.Errorf("HTTP(procesor) = %v, want an error that names processor", err)
	}
}

func TestOpenReturnsAllMistakesAndLeavesNothingBehind(t *testing.T) {
	registry := prometheus.NewRegistry()
	path := write(t, `
service: checkout
replicas: {min: 6}
door: {inFlight: 8}
upstreams:
  processor: {target: "https://processor.example", rate: 120/s, latency: 1200ms, limit: 200}
  ledger: {target: "https://ledger.example", inFlight: 4}
`)
	_, err := Open(path, &Options{Registerer: registry, HTTP: map[string]httpclient.Options{"ledger": {WarmPath: "healthz"}, "leger": {}}})
	for _, part := range []string{"infeasible", "processor", "ledger", "Options.WarmPath", `"leger"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Open() = %v, want it to contain %q", err, part)
		}
	}
	if families, _ := registry.Gather(); len(families) != 0 {
		t.Errorf("%d metrics are left after a failed Open, want 0", len(families))
	}
	if _, err := Open(path, &Options{Environment: "production", Grace: -1}); err == nil || !strings.Contains(err.Error(), "Grace") || !strings.Contains(err.Error(), "production") {
		t.Errorf("Open() = %v, want it to name Grace and the unknown environment", err)
	}
}

func TestReadinessOpensOnlyWhenThePoolsAreWarm(t *testing.T) {
	address := loopback.Free(t)
	s, _ := open(t, write(t, one, "http://"+address), Options{Propagation: time.Millisecond, Spread: time.Millisecond})
	url, _ := running(t, s, http.NotFoundHandler())
	eventually(t, "failing to warm", func() bool { return s.Ready().Stats().Checks[0].Err != nil })
	if got, _ := status(t, url+"/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("GET /readyz of a cold service = %d, want 503", got)
	}
	if got, _ := status(t, url+"/livez"); got != http.StatusOK {
		t.Errorf("GET /livez of a cold service = %d, want 200", got)
	}

	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go server.Serve(l)
	defer server.Close()
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	if c, _ := s.HTTP("processor"); c.Stats().Open < 4 {
		t.Errorf("connections of a ready service = %d, want 4", c.Stats().Open)
	}

	server.Close()
	if got, _ := status(t, url+"/readyz"); got != http.StatusOK {
		t.Errorf("GET /readyz after the upstream has failed = %d, want 200: ready stays ready", got)
	}
}

func TestAnEarlyRequestWaitsAndIsThenRefusedAsBusy(t *testing.T) {
	s, _ := open(t, write(t, one, "http://127.0.0.1:1"), Options{Early: 100 * time.Millisecond, Propagation: time.Millisecond})
	url, _ := running(t, s, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	got, header := status(t, url+"/")
	if got != http.StatusTooManyRequests || header.Get("Retry-After") == "" {
		t.Errorf("an early request = %d, Retry-After %q, want 429 with one", got, header.Get("Retry-After"))
	}
}

func TestAnOptionalUpstreamDoesNotKeepTheGateShut(t *testing.T) {
	path := write(t, `
service: checkout
replicas: {min: 1}
upstreams:
  processor: {target: %q, inFlight: 2}
  audit: {target: "http://127.0.0.1:1", inFlight: 1, warm: {optional: true}}
`, upstream(t).URL())
	s, _ := open(t, path, Options{Propagation: time.Millisecond, Spread: time.Millisecond})
	url, _ := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	if _, header := status(t, url+"/readyz"); header.Get("Offtake-Degraded") != "audit" {
		t.Errorf("Offtake-Degraded = %q, want audit", header.Get("Offtake-Degraded"))
	}
}

func TestTheGateOpensDegradedAfterTheStatedTime(t *testing.T) {
	s, out := open(t, write(t, one, "http://127.0.0.1:1"), Options{OpenDegraded: 300 * time.Millisecond, Propagation: time.Millisecond, Spread: time.Millisecond})
	url, _ := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	if got := s.Degraded(); len(got) != 1 || got[0] != "processor" {
		t.Errorf("Degraded() = %q, want processor", got)
	}
	if !strings.Contains(out.String(), "upstream is not warm yet") {
		t.Errorf("the log does not name the upstream:\n%s", out)
	}
}

func TestASecondServiceOnOneRegistryIsAnErrorAndTheFirstGoesOn(t *testing.T) {
	registry := prometheus.NewRegistry()
	path := write(t, one, upstream(t).URL())
	open(t, path, Options{Registerer: registry})
	before, _ := registry.Gather()
	_, err := Open(path, &Options{Registerer: registry})
	if err == nil || !strings.Contains(err.Error(), `a client named "processor" has metrics on this registry already`) {
		t.Errorf("Open() = %v, want an error that names the client", err)
	}
	if after, _ := registry.Gather(); len(after) != len(before) {
		t.Errorf("%d metrics of the first service are left, want %d", len(after), len(before))
	}
}

func TestAnUpstreamThatIsDownAtTheStartIsLoggedOnceAndAStopIsNoError(t *testing.T) {
	s, out := open(t, write(t, one, "http://127.0.0.1:1"), Options{Propagation: time.Millisecond, Spread: time.Millisecond})
	_, stop := running(t, s, http.NotFoundHandler())
	eventually(t, "tried three times", func() bool { return s.Ready().Stats().Checks[0].Attempts >= 3 })
	if err := stop(); err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
	if got := out.String(); strings.Count(got, "upstream is not warm yet") != 1 || strings.Contains(got, "level=ERROR") {
		t.Errorf("the log has not one line for the upstream and no error:\n%s", got)
	}
}

func TestTheStartNamesWhatNobodyUsesAndWhatTheFileLacks(t *testing.T) {
	registry := prometheus.NewRegistry()
	s, out := open(t, write(t, one, upstream(t).URL()), Options{
		Registerer: registry, Propagation: time.Millisecond, Drain: 40 * time.Second, Grace: 30 * time.Second,
	})
	stranger, err := httpclient.New("https://elsewhere.example", capacity.Plan{InFlight: 1}, &httpclient.Options{Name: "elsewhere", Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	_, stop := running(t, s, http.NotFoundHandler())
	eventually(t, "started", func() bool { return strings.Contains(out.String(), "grace that would do") })
	stop()
	for _, part := range []string{"never asked for", "upstream=processor", "upstream=elsewhere", "40.001s"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the log does not contain %q:\n%s", part, out)
		}
	}
}

func TestProbesHaveAListenerOfTheirOwnIfAsked(t *testing.T) {
	admin := loopback.Free(t)
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Admin: admin, Propagation: time.Millisecond, Spread: time.Millisecond})
	url, _ := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool {
		resp, err := http.Get("http://" + admin + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if got, _ := status(t, url+"/readyz"); got != http.StatusNotFound {
		t.Errorf("GET /readyz on the address of the traffic = %d, want the application's 404", got)
	}
	resp, err := http.Get("http://" + admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), `offtake_client_places{upstream="processor"} 4`) {
		t.Errorf("GET /metrics does not show the places of processor:\n%.2000s", body)
	}
}
