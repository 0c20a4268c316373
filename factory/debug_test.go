package factory

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheDebugPageShowsThePlanBesideTheState(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{})
	r := httptest.NewRequest(http.MethodGet, "/debug/offtake", nil)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	s.AdminHandler().ServeHTTP(w, r)
	if !json.Valid(w.Body.Bytes()) {
		t.Fatalf("GET /debug/offtake is no JSON:\n%s", w.Body)
	}
	for _, part := range []string{"processor", "http://127.0.0.1:1", "ledger", "checkout", "warming", "needs 0 of 4 places"} {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("GET /debug/offtake does not contain %q:\n%.3000s", part, w.Body)
		}
	}
}

func TestTheReadinessMetricsFollowTheGate(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL), Options{})
	url, _ := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { return strings.Contains(body(t, url+"/metrics"), "\nofftake_ready 1\n") })
	if got := body(t, url+"/metrics"); !strings.Contains(got, `offtake_ready_check_seconds{check="processor"}`) {
		t.Errorf("GET /metrics has no time of the check:\n%.3000s", got)
	}
}
