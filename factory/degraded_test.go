package factory

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/loopback"
)

// silent accepts connections and never answers.
func silent(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// One attempt to warm may take as long as the gate allows it, 30 s, which is more
// than eventually waits.
func TestAnUpstreamThatHangsDoesNotPutTheDegradedStartOff(t *testing.T) {
	path := write(t, `
service: checkout
replicas: {min: 1}
upstreams:
  processor: {target: "http://%s", inFlight: 1, attempt: 50s, deadline: 60s, warm: {path: /warm}}
`, silent(t))
	s, _ := open(t, path, Options{OpenDegraded: 100 * time.Millisecond, Propagation: time.Millisecond, Spread: time.Millisecond})
	url, _ := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	if got := s.Degraded(); len(got) != 1 || got[0] != "processor" {
		t.Errorf("Degraded() = %q, want processor", got)
	}
}

func TestWhatComesUpLaterIsDegradedNoLonger(t *testing.T) {
	address := loopback.Free(t)
	path := write(t, `
service: checkout
replicas: {min: 1}
upstreams:
  audit: {target: "http://%s", inFlight: 1, attempt: 50s, deadline: 60s, warm: {optional: true}}
  stuck: {target: "http://%s", inFlight: 1, attempt: 100ms, deadline: 60s, warm: {path: /warm, optional: true}}
`, address, silent(t))
	s, out := open(t, path, Options{Propagation: time.Millisecond, Spread: time.Millisecond})
	url, _ := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	if got := strings.Join(s.Degraded(), ", "); got != "audit, stuck" {
		t.Fatalf("Degraded() = %s, want audit, stuck", got)
	}
	if got := body(t, url+"/readyz?verbose"); strings.Count(got, `"passed":true,"degraded":true`) != 2 || !strings.Contains(got, "connection refused") {
		t.Errorf("GET /readyz?verbose = %s, want both degraded, and why", got)
	}
	for _, want := range []string{`"text":"open without audit"`, `"word":"degraded","text":"the process takes traffic without it: it is not warm"`} {
		eventually(t, want, func() bool { return strings.Contains(string(debugPage(t, s)), want) }) // it is read anew each second
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler()}
	go server.Serve(l)
	defer server.Close()
	eventually(t, "warm", func() bool { s.warmDegraded(t.Context(), s.Degraded()); return len(s.Degraded()) == 1 })
	if got := s.Degraded(); got[0] != "stuck" {
		t.Errorf("Degraded() = %q, want stuck alone", got)
	}
	if got := body(t, url+"/readyz?verbose"); strings.Count(got, "degraded") != 1 {
		t.Errorf("GET /readyz?verbose once audit is warm = %s, want stuck alone degraded", got)
	}
	if !strings.Contains(out.String(), `msg="upstream is warm now" upstream=audit`) {
		t.Errorf("the log does not say that audit is warm:\n%s", out)
	}
}
