package telemetry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func newTestClient(t *testing.T, r prometheus.Registerer, state State) *Client {
	t.Helper()
	c, err := NewClient(ClientConfig{Upstream: "ledger", Address: "ledger.example", Port: 443, Registerer: r, State: func() State { return state }})
	if err != nil {
		t.Fatalf("NewClient() = %v, want nil", err)
	}
	return c
}

func TestWhatIsCountedIsScraped(t *testing.T) {
	r := prometheus.NewRegistry()
	c := newTestClient(t, r, State{
		Upgraded: 2,
		Refusals: []Refusals{{Reason: "queue_full", Refused: 3, Observed: 1}},
		Limited:  []Refusals{{Reason: "body", Observed: 4}, {Reason: "retry_budget"}},
	})
	c.Leaked()
	c.SilentRetry()
	c.Body(time.Second)
	want := `
# HELP offtake_client_leaked_bodies_total Response bodies that nobody read to the end or closed; a deadline had to.
# TYPE offtake_client_leaked_bodies_total counter
offtake_client_leaked_bodies_total{upstream="ledger"} 1
# HELP offtake_client_limited_total Calls cut short by a limit other than the gate's: a retry not sent for want of budget, a body too long; observed ones were let pass.
# TYPE offtake_client_limited_total counter
offtake_client_limited_total{limit="body",observed="true",upstream="ledger"} 4
# HELP offtake_client_refused_total Calls refused here, with nothing sent; observed ones were let pass.
# TYPE offtake_client_refused_total counter
offtake_client_refused_total{observed="false",reason="queue_full",upstream="ledger"} 3
offtake_client_refused_total{observed="true",reason="queue_full",upstream="ledger"} 1
`
	if err := testutil.GatherAndCompare(r, strings.NewReader(want), "offtake_client_leaked_bodies_total", "offtake_client_limited_total", "offtake_client_refused_total"); err != nil {
		t.Error(err)
	}
	if got := testutil.CollectAndCount(prometheus.Collector((*clientCollector)(c)), "offtake_client_body_seconds"); got != 1 {
		t.Errorf("series of body_seconds = %d, want 1", got)
	}
}

func TestTwoClientsDoNotShareAName(t *testing.T) {
	r := prometheus.NewRegistry()
	first := newTestClient(t, r, State{})
	_, err := NewClient(ClientConfig{Upstream: "ledger", Registerer: r, State: func() State { return State{} }})
	if err == nil || !strings.Contains(err.Error(), `"ledger"`) || errors.Unwrap(err) != nil {
		t.Errorf("NewClient() with a name that is taken = %v, want it to name it", err)
	}
	first.Close()
	newTestClient(t, r, State{})
}
