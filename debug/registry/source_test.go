package registry_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/debug"
	"github.com/offtake-go/offtake/debug/registry"
	"github.com/offtake-go/offtake/httpclient"
	"github.com/offtake-go/offtake/internal/telemetry"
)

func TestClientsAndDoorsAreReadFromTheirMetrics(t *testing.T) {
	metrics := prometheus.NewRegistry()
	plan := capacity.Plan{InFlight: 4, Attempts: capacity.NoRetry}
	door, err := admission.New(plan, &admission.Options{Name: "front", Registerer: metrics})
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	srv := httptest.NewServer(door.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})))
	defer srv.Close()
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"replica": "0"}, metrics)
	client, err := httpclient.New(srv.URL, plan, &httpclient.Options{Name: "self", Registerer: labelled})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	for _, method := range []string{http.MethodGet, http.MethodGet, http.MethodPost} {
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	srv.Close() // every handler has returned

	s := registry.Source(metrics)()
	if len(s.Upstreams) != 1 || len(s.Doors) != 1 || len(s.Gates) != 0 {
		t.Fatalf("read %d upstreams, %d doors and %d gates, want 1, 1 and 0", len(s.Upstreams), len(s.Doors), len(s.Gates))
	}
	u, d := s.Upstreams[0], s.Doors[0]
	if u.Name != "self (replica 0)" || d.Name != "front" {
		t.Errorf("names = %q and %q, want %q and %q", u.Name, d.Name, "self (replica 0)", "front")
	}
	for name, f := range map[string]debug.Flow{"client": u.Flow, "door": d.Flow} {
		if f.Places != 4 || f.Outcomes["2xx"] != 2 || f.Outcomes["5xx"] != 1 || f.Required <= 0 {
			t.Errorf("%s = %+v, want 4 places, 2 of 2xx, 1 of 5xx, and a need", name, f)
		}
		if all := f.Duration.Counts; len(all) == 0 || all[len(all)-1] != 3 || !slices.IsSorted(all) {
			t.Errorf("%s: durations = %v, want 3 in all", name, all)
		}
		if all := f.QueueWait.Counts; len(all) == 0 || all[len(all)-1] != 3 || all[0] != 3 {
			t.Errorf("%s: queue waits = %v, want 3 of none", name, all)
		}
	}
	if u.Attempts != 3 || u.Dials["2xx"] != 1 || u.RetryBalance <= 0 {
		t.Errorf("upstream = %d attempts, dials %v, budget %v, want 3 on 1 connection, and a budget", u.Attempts, u.Dials, u.RetryBalance)
	}
}

func TestAnEmptyRegistryIsAnEmptySnapshot(t *testing.T) {
	if s := registry.Source(prometheus.NewRegistry())(); len(s.Upstreams)+len(s.Doors)+len(s.Gates) != 0 {
		t.Errorf("Source() = %+v, want nothing", s)
	}
}

// TestEveryMetricBelongsToItsClient has all that a client can count be there: a
// label that is not known would make another upstream.
func TestEveryMetricBelongsToItsClient(t *testing.T) {
	metrics := prometheus.NewRegistry()
	some := []telemetry.Refusals{{Reason: "some", Refused: 1, Observed: 1}}
	config := telemetry.ClientConfig{Upstream: "u", Registerer: metrics, State: func() telemetry.State {
		return telemetry.State{Refusals: some, Limited: some, Upgraded: 1, InFlight: 3, Queued: 4, Idle: 5, Active: 6}
	}}
	client, err := telemetry.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := telemetry.NewRPC(config); err != nil {
		t.Fatal(err)
	}
	client.Attempt(telemetry.Timeout)
	client.Dial(telemetry.Connect, time.Second)
	client.ConnectWait(time.Second)
	client.Headers(time.Second)
	client.Body(time.Second)
	client.Retry(telemetry.RetryTimeout)
	client.Leaked()
	client.Call(t.Context(), telemetry.OfMethod("GET"), 0, telemetry.Timeout, time.Second)
	s := registry.Source(metrics)()
	if len(s.Upstreams) != 1 || s.Upstreams[0].Name != "u" {
		t.Fatalf("one client is shown as %+v, want one upstream", s.Upstreams)
	}
	u := s.Upstreams[0]
	if u.InFlight != 3 || u.Queued != 4 || u.Idle != 5 || u.Active != 6 || u.Leaked != 1 {
		t.Errorf("%d in flight, %d queued, %d idle, %d active, %d leaked, want 3, 4, 5, 6 and 1", u.InFlight, u.Queued, u.Idle, u.Active, u.Leaked)
	}
	for what, got := range map[string]uint64{
		"refused": u.Refused["some"], "observed": u.Observed["some"], "retries": u.Retries["timeout"], "dials": u.Dials["connect"],
		"connect waits": u.ConnectWait.Counts[len(u.ConnectWait.Counts)-1], "header waits": u.HeaderWait.Counts[len(u.HeaderWait.Counts)-1],
		"bodies read": u.BodyRead.Counts[len(u.BodyRead.Counts)-1],
	} {
		if got != 1 {
			t.Errorf("%s = %d, want 1", what, got)
		}
	}
}
