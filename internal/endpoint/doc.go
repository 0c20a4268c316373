// Package endpoint judges how each endpoint of an upstream is doing, and picks
// one of them for a call.
//
// An endpoint is one address behind a name. A [Set] holds those of one upstream.
// It opens no connection, starts no goroutine and sets no timer: its owner says
// what time it is, which endpoints can take a call, and how calls went. All
// methods may be called from any goroutine; the lock of a Set is a leaf.
//
// # The choice
//
// A call goes to the less loaded of two endpoints drawn at random (Mitzenmacher,
// "The power of two choices", 2001). Load is what is in flight, and each failure
// adds a call that hangs for a whole Attempt: a failure is the shortest call there
// is, and would otherwise attract all others. An endpoint that is new takes its
// share slowly.
//
// # Who is left out
//
// Two failures with no success between them, while another endpoint succeeds,
// leave an endpoint out. So do two calls without an answer for longer than ten
// times the median of its peers, and 100 ms at the least. At most half are left
// out at a time, so that the last one never is, and none for being busy. The way
// back is a real call after a pause that grows: one second and fifty calls the
// first time, whichever is later, a minute at the most. That is a trickle of two
// percent of the calls, and with little traffic it is bounded by counts.
//
// What is left out here is left out by one process alone, and comes back by
// itself; the ejection of a mesh is neither.
package endpoint
