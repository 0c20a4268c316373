// Package registry reads what the debug page shows from a Prometheus registry.
//
//	page := debug.Handler(registry.Source(prometheus.DefaultGatherer))
//
// Whatever has this module's metrics is on the page then: clients over HTTP and
// gRPC, and doors. What metrics do not have, the page does not show: plans, the
// text of errors, ages of connections, readiness gates. Wrap the source to add
// them, as the example of debug.Source does.
//
// It is tempting to have each client hand the page a snapshot instead, and to
// leave the registry to Prometheus. But that would be every figure a second time,
// and the two would disagree one day.
package registry
