// Package telemetry records what clients and doors do, for Prometheus and for
// OpenTelemetry at once.
//
// Every label is from a closed set: an upstream's name, a method, an outcome, a
// reason, a state. Nothing that comes over the wire becomes a label.
package telemetry
