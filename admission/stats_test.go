package admission

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
)

func TestTheMetricsShowEachRequestByOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		d := newDoor(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Options{Name: "orders", Registerer: registry})
		h := d.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/missing":
				http.NotFound(w, r)
			case "/broken":
				panic(http.ErrAbortHandler)
			case "/late":
				<-r.Context().Done()
			}
		}))
		ask := func(path, timeout string) {
			r := httptest.NewRequest("GET", path, nil)
			if timeout != "" {
				r.Header.Set("X-Envoy-Expected-Rq-Timeout-Ms", timeout)
			}
			defer func() { recover() }() // net/http would
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		ask("/", "")
		ask("/missing", "")
		ask("/broken", "")
		ask("/late", "20")
		place := take(t, d)
		ask("/", "")
		place.Release()

		var outcomes []string
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range families {
			names = append(names, f.GetName())
			for _, m := range f.Metric {
				if f.GetName() == "offtake_server_request_duration_seconds" {
					for _, l := range m.Label {
						if l.GetName() == "outcome" {
							outcomes = append(outcomes, l.GetValue())
						}
					}
				}
			}
		}
		slices.Sort(outcomes)
		// The place taken by hand is a 2xx of the method "other".
		if want := []string{"2xx", "2xx", "4xx", "busy", "reset", "timeout"}; !slices.Equal(outcomes, want) {
			t.Errorf("outcomes = %v, want %v", outcomes, want)
		}
		for _, name := range []string{"offtake_server_in_flight", "offtake_server_places", "offtake_server_queue_length", "offtake_server_required_places", "offtake_server_refused_total", "offtake_server_queue_wait_seconds"} {
			if !slices.Contains(names, name) {
				t.Errorf("metrics = %v, want %s among them", names, name)
			}
		}
	})
}

func TestRequiredPlacesCountTheRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Options{})
		for range 30 { // one of 1 s that is served, and one that is refused, each second
			place := take(t, d)
			if _, err := d.Acquire(t.Context()); err == nil {
				t.Fatal("Acquire(full) = nil, want busy")
			}
			<-time.After(time.Second)
			place.Release()
		}
		if got := d.Stats().Required; got < 1.9 || got > 2.1 {
			t.Errorf("Required at 2/s of 1s = %v, want 2", got)
		}
	})
}
