package debug_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/debug"
	"github.com/offtake-go/offtake/debug/registry"
	"github.com/offtake-go/offtake/httpclient"
)

// Without the factory, a source takes the counts from the registry of the client's
// metrics, and the rest from the client itself.
func ExampleSource() {
	metrics := prometheus.NewRegistry()
	client, err := httpclient.New("http://127.0.0.1:1", capacity.Plan{InFlight: 4}, &httpclient.Options{Name: "ledger", Registerer: metrics})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	counts := registry.Source(metrics)
	source := func() debug.Snapshot {
		snapshot := counts()
		for i := range snapshot.Upstreams { // there is one
			u, stats := &snapshot.Upstreams[i], client.Stats()
			u.Plan, u.Oldest = debug.Plan(stats.Plan), stats.Oldest
			u.Observing, u.Draining = stats.Observing, stats.Draining
			for _, f := range client.Failures() {
				u.Failures = append(u.Failures, debug.Failure(f))
			}
		}
		return snapshot
	}
	page := debug.Handler(source) // to mount outside the door
	defer page.Close()

	if _, err := client.Get("/"); err == nil {
		fmt.Println("somebody answered")
	}
	u := source().Upstreams[0]
	fmt.Println(u.Name, "has", u.Places, "places; its last failures:")
	for _, f := range u.Failures {
		fmt.Printf("%s: %s\n", f.Outcome, f.Text)
	}
	// Output:
	// ledger has 4 places; its last failures:
	// connect: dial tcp 127.0.0.1:1: connect: connection refused
}
