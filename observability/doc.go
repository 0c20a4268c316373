// Package observability holds the alerts, the dashboards and the autoscaler that
// go with this module's metrics, and the tests that keep docs/metrics.md and them
// in step with the code. There is nothing to import.
package observability
