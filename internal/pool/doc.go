// Package pool keeps the connections to one upstream, over HTTP/1.1 and HTTP/2, and
// knows which endpoint each of them goes to.
//
// It stands on http.ClientConn, which is one connection that says whether it has
// room and whether it still stands. It is tempting to leave all this to
// http.Transport. But that hands out the connection used last, says nothing of one
// that closed unused, dials and repeats behind its user's back, and knows no
// endpoint.
//
// A [Pool] knows nothing of calls, retries or metrics: it is asked for a [Lease] of
// a connection, told how the exchange on it went, and tells its owner what happens
// through [Events].
package pool
