package admission_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/readiness"
)

func TestProbesAnswerWhileTheDoorIsFullAndWhileItDrains(t *testing.T) {
	door, err := admission.New(capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, &admission.Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	var ready readiness.Gate
	if err := ready.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", &ready)
	mux.Handle("GET /livez", readiness.Live())
	mux.Handle("/", door.Handler(http.NotFoundHandler()))
	want := func(state string, statuses map[string]int) {
		t.Helper()
		for path, status := range statuses {
			w := httptest.NewRecorder()
			mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			if w.Code != status {
				t.Errorf("%s while %s = %d, want %d", path, state, w.Code, status)
			}
		}
	}

	place, err := door.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want("full", map[string]int{"/readyz": 200, "/livez": 200, "/": 429})
	place.Release()
	ready.Drain()
	want("draining", map[string]int{"/readyz": 503, "/livez": 200, "/": 404})
	if err := door.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("shut down", map[string]int{"/readyz": 503, "/livez": 200, "/": 503})
}

// Three replicas at one and a half times what they can do: whoever saw busy as
// not ready would take all three out.
func TestOverloadedReplicasStayReadyAndRefuseTheSurplus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const places, hold = 4, 100 * time.Millisecond
		served, busy := 0, 0
		for replica := range 3 {
			door, err := admission.New(capacity.Plan{InFlight: places, Queue: capacity.NoQueue},
				&admission.Options{Name: fmt.Sprint("replica-", replica), Registerer: prometheus.NewRegistry()})
			if err != nil {
				t.Fatal(err)
			}
			defer door.Close()
			var ready readiness.Gate
			if err := ready.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			for range 100 { // a round each 100 ms: six come to four places
				for range places * 3 / 2 {
					place, err := door.Acquire(t.Context())
					if err != nil {
						busy++
						continue
					}
					served++
					time.AfterFunc(hold, place.Release)
				}
				if got := ready.State(); got != readiness.Ready {
					t.Fatalf("State() under load = %v, want ready", got)
				}
				<-time.After(hold)
				synctest.Wait()
			}
		}
		if served != 3*100*places || busy != served/2 {
			t.Errorf("served, busy = %d, %d, want %d, %d", served, busy, 3*100*places, served/2)
		}
	})
}
