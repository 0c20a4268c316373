package httpclient

import (
	"errors"
	"net"
	"time"
)

// The transport repeats a request by itself when a connection that was used
// before turns out to be dead; it does so once for each such connection, however
// many there are. That is bounded here: a request that makes the upstream close
// its connection would otherwise be sent once for each connection that is warm.
// HTTP/2 has more reasons of its own (GOAWAY, REFUSED_STREAM).
const (
	silentRetries  = 1
	silentRetries2 = 3
)

var errSilentRetries = errors.New("httpclient: the connection was closed again and again before a response: the request itself may be the reason")

// silentRetry charges the n-th repetition by the transport to the budget, and
// ends the attempt after too many.
func (a *attempt) silentRetry(n int, on net.Conn, ours *conn) {
	c := a.call.core
	most := silentRetries
	if ours != nil && ours.http2 {
		most = silentRetries2
	}
	if n <= most {
		c.budget.Charge(time.Now())
		c.telemetry.SilentRetry()
		return
	}
	a.stop(errSilentRetries)
	if most == silentRetries {
		on.Close() // so that not one byte is sent on it
	}
}
