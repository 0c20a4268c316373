// Package survive shows on real sockets what a default plan survives: the same
// calls, through the same faults of an upstream, made with bare net/http, with a
// semaphore of 64 and a deadline written by hand, and with plans of offtake.
package survive
