package readiness

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"
	"testing/synctest"
	"time"
)

func probe(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w
}

func TestProbesSeeEachState(t *testing.T) {
	var g Gate
	for _, c := range []struct {
		step   func()
		status int
		body   string
	}{
		{func() {}, 503, "warming\n"},
		{func() { g.Run(t.Context()) }, 200, "ready\n"},
		{g.Drain, 503, "draining\n"},
	} {
		c.step()
		w := probe(&g, "/readyz")
		if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("readiness = %d %q, want %d %q", w.Code, w.Body, c.status, c.body)
		}
		if w := probe(Live(), "/livez"); w.Code != 200 {
			t.Errorf("liveness while %s = %d, want 200", c.body, w.Code)
		}
	}
}

func TestTheVerboseAnswerTellsOfEachCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Add("card-processor", func(context.Context) error { <-time.After(250 * time.Millisecond); return nil })
		g.Add("fraud-check", func(ctx context.Context) error {
			<-time.After(time.Second)
			return errors.New("dial fraud-check:443: connection refused")
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second+time.Millisecond)
		defer cancel()
		if err := g.Run(ctx); err == nil {
			t.Fatal("Run() = nil, want the deadline")
		}
		w := probe(&g, "/readyz?verbose")
		var got report
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		want := report{State: "warming", Checks: []checkReport{
			{Name: "card-processor", Passed: true, Attempts: 1, Took: "250ms"},
			{Name: "fraud-check", Attempts: 1, Took: "1.001s", Error: "dial fraud-check:443: connection refused"},
		}}
		if w.Code != 503 || w.Header().Get("Content-Type") != "application/json" || !reflect.DeepEqual(got, want) {
			t.Errorf("verbose = %d %+v, want 503 %+v", w.Code, got, want)
		}
	})
}

func TestADegradedCheckDoesNotReadAsPassedAlone(t *testing.T) {
	var g Gate
	g.Add("audit", func(context.Context) error {
		g.Degrade("audit", errors.New("connection refused"))
		return nil
	})
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	degraded := checkReport{Name: "audit", Passed: true, Degraded: true, Attempts: 1, Took: "0s", Error: "connection refused"}
	whole := checkReport{Name: "audit", Passed: true, Attempts: 1, Took: "0s"}
	for _, c := range []struct {
		name string
		why  error
		want checkReport
	}{
		{"nobody's", errors.New("passed over"), degraded}, // of the check itself
		{"audit", nil, whole},
		{"audit", errors.New("connection refused"), degraded},
	} {
		g.Degrade(c.name, c.why)
		w := probe(&g, "/readyz?verbose")
		var got report
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		got.Checks[0].Took = "0s"
		if w.Code != 200 || got.State != "ready" || got.Checks[0] != c.want {
			t.Errorf("verbose after Degrade(%q, %v) = %d %+v, want 200 and %+v", c.name, c.why, w.Code, got, c.want)
		}
	}
}

func TestAGateWithoutChecksIsAnEmptyListAndNotNull(t *testing.T) {
	var g Gate
	if got, want := probe(&g, "/readyz?verbose=1").Body.String(), `{"state":"warming","checks":[]}`+"\n"; got != want {
		t.Errorf("verbose = %q, want %q", got, want)
	}
}

// Endpoints are removed while traffic still comes: a draining gate turns the
// balancer away, and nobody else.
func TestLateTrafficIsServedAfterDrain(t *testing.T) {
	var g Gate
	if err := g.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", &g)
	mux.Handle("/", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	srv := httptest.NewServer(mux)
	defer srv.Close()
	g.Drain()
	for path, want := range map[string]int{"/readyz": 503, "/order": 200} {
		resp, err := srv.Client().Get(srv.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s after Drain = %d, want %d", path, resp.StatusCode, want)
		}
	}
}
