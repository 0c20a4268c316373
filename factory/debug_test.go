package factory

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// debugPage is the debug page in JSON.
func debugPage(t *testing.T, s *Service) []byte {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/debug/offtake", nil)
	r.Host = "localhost"
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	s.AdminHandler().ServeHTTP(w, r)
	if !json.Valid(w.Body.Bytes()) {
		t.Fatalf("GET /debug/offtake is no JSON:\n%s", w.Body)
	}
	return w.Body.Bytes()
}

func TestTheDebugPageShowsThePlanBesideTheState(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{})
	got := string(debugPage(t, s))
	for _, part := range []string{"processor", "http://127.0.0.1:1", "ledger", "checkout", "warming", "needs 0 of 4 places"} {
		if !strings.Contains(got, part) {
			t.Errorf("GET /debug/offtake does not contain %q:\n%.3000s", part, got)
		}
	}
}

func TestTheDebugPageShowsTheLastErrors(t *testing.T) {
	s, _ := open(t, write(t, `
service: checkout
replicas: {min: 1}
upstreams:
  processor: {target: "http://127.0.0.1:1", inFlight: 1}
  ledger: {target: "http://127.0.0.1:2", inFlight: 1}
`), Options{})
	for name, c := range s.clients {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if err := c.Warm(ctx); err == nil {
			t.Fatalf("Warm() of %s = nil, want an error", name)
		}
		cancel()
	}
	var got struct {
		Subjects []struct {
			Name   string
			Errors []struct{ Outcome, Text string }
		}
	}
	if err := json.Unmarshal(debugPage(t, s), &got); err != nil {
		t.Fatal(err)
	}
	for _, u := range got.Subjects {
		if s.clients[u.Name] == nil {
			continue
		}
		if len(u.Errors) != 1 || u.Errors[0].Outcome != "connect" || !strings.Contains(u.Errors[0].Text, "connection refused") {
			t.Errorf("the page has the errors %v of %s, want one to connect", u.Errors, u.Name)
		}
	}
}

func TestTheReadinessMetricsFollowTheGate(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{})
	admin := httptest.NewServer(s.AdminHandler())
	defer admin.Close()
	running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { return strings.Contains(body(t, admin.URL+"/metrics"), "\nofftake_ready 1\n") })
	got := body(t, admin.URL+"/metrics")
	for _, want := range []string{`offtake_ready_check_seconds{check="processor"}`, `offtake_ready_degraded{check="processor"} 0`} {
		if !strings.Contains(got, want) {
			t.Errorf("GET /metrics has no %s:\n%.3000s", want, got)
		}
	}
}
