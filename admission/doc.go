// Package admission bounds what a server takes on: so many requests in flight,
// so many in a queue for a bounded time, and an early no to the rest.
//
// A server without a door takes every request and finishes none of them in time
// once there are too many. With one, those inside are as fast as ever, and the
// others know at once that they should come back or go elsewhere.
//
// # Busy is not broken
//
// A full [Door] answers 429 Too Many Requests with Retry-After, never 503. To a
// balancer a 503 says that the replica is broken: outlier detection ejects it,
// and the load goes to the rest until they are ejected in turn. A 429 counts as
// a healthy answer. 503 is for a door that drains, where looking away is just
// what the balancer should do. A request that is gRPC by its content type gets
// the same answers in its own words, since its library reads a plain 429 as
// UNAVAILABLE, which is often retried at once.
//
// # Routes around the door
//
// Probes, metrics and debug pages must answer under load, so they are not behind
// the door. There is no list of exempt paths: the mux that routes them is the
// list, and can not disagree with itself.
//
//	mux.Handle("GET /readyz", &ready)
//	mux.Handle("GET /livez", readiness.Live())
//	mux.Handle("/", door.Handler(app))
//
// # What a request knows
//
// The door reads how long the caller will wait (X-Envoy-Expected-Rq-Timeout-Ms)
// into the deadline of the request's context, and which attempt this is
// (X-Envoy-Attempt-Count) into its values. The clients of this module, called
// with that context, do not outlive the caller, and send no retries for what is
// a retry already. Values that no proxy would write are ignored.
//
// # Cost
//
// A request through the door allocates once, and a refused one at most three
// times; tests hold both. A caller's stated time or attempt costs a context and
// a copy of the request on top.
package admission
