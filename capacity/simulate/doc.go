// Package simulate runs a service, its callers and its upstream in virtual time,
// to show what their timeouts, retries, queues, detectors and probes do together.
//
// A formula sees one control at a time; an outage is a loop through several. A
// [Scenario] describes three tiers: [Callers], each behind a [Proxy] of its own;
// the replicas of a [Service], with a door, a client and probes; and the
// [Upstream] they draw on. Its events change them while the run goes on. [Run]
// plays it once, [Repeat] several times with different seeds on all cores.
//
// A run is a single goroutine that takes one event after another from a heap; no
// wall clock is read, and the same scenario and seed give the same [Result] on
// every machine of one architecture. Memory goes with what is in flight and with
// the timeouts that are set, and not with the length of a run: latencies go into
// histograms, and what changes over time into series of a fixed number of points.
//
// What is left out: bytes on the wire, connections and their set-up, processor
// time shared between replicas, and the clock skew between proxies. Answers
// travel in no time.
package simulate
