package factory

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
)

func TestEveryOtherPathIsTheApplications(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{})
	s.Door().Open()
	h := s.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "app ", r.URL.Path) }))
	for request, want := range map[[2]string]string{
		{"GET", "/readyz"}:           "warming\n",
		{"GET", "/livez"}:            "live\n",
		{"POST", "/readyz"}:          "app /readyz",
		{"GET", "/fetch/https://a"}:  "app /fetch/https://a",
		{"GET", "/a/../order"}:       "app /a/../order",
		{"GET", "/debug/offtake/no"}: "app /debug/offtake/no",
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(request[0], request[1], nil))
		if got := w.Body.String(); got != want {
			t.Errorf("%s = %d %q, want %q", request, w.Code, got, want)
		}
	}
}

func TestANilApplicationIsTheDefaultServeMux(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{})
	s.Door().Open()
	w := httptest.NewRecorder()
	s.Handler(nil).ServeHTTP(w, httptest.NewRequest("GET", "/nobody-has-this", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("status %d, want the mux's own, %d", w.Code, http.StatusNotFound)
	}
}

func TestIdleConnectionsCloseBeforeTheUpstreamClosesThem(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{})
	for serverIdle, want := range map[time.Duration]time.Duration{
		0:                0, // the client's own default
		30 * time.Second: 24 * time.Second,
		time.Hour:        45 * time.Second,
	} {
		if got := s.httpOptions("ledger", contract.Upstream{ServerIdle: serverIdle}).Idle; got != want {
			t.Errorf("Idle with serverIdle %v = %v, want %v", serverIdle, got, want)
		}
	}
}
