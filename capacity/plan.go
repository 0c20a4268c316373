package capacity

import (
	"fmt"
	"strings"
	"time"
)

// The two named nothings. Zero is always a finite default, so that an absent
// field can never mean "unlimited".
const (
	// NoQueue, as Plan.Queue, refuses at once when all places are taken.
	NoQueue = -1

	// NoRetry, as Plan.Attempts, sends every call once. Resolve writes it as 1.
	NoRetry = -1
)

// A Plan states the sizes of one client of one upstream, or of one server's
// door, in one replica. Demand.Plan derives it from the traffic; a literal
// states it by hand.
//
// Every zero field is a finite default, which Resolve fills in. A Plan is a
// plain value: it compares with ==, prints, and goes into JSON and back.
type Plan struct {
	// InFlight is the number of places: how many requests may be out at once.
	// Required, at most a million.
	InFlight int `json:"inFlight"`

	// Connections is the most connections kept to the upstream. The default is
	// one for each place divided by Streams, rounded up: for HTTP/1.1 a place is
	// a connection. It is neither more than InFlight nor less than the default:
	// with fewer, calls that hold a place would queue again, unseen.
	Connections int `json:"connections,omitempty"`

	// Streams is how many requests share one connection: 1, the default, for
	// HTTP/1.1; the upstream's limit on concurrent streams for HTTP/2 and gRPC.
	Streams int `json:"streams,omitempty"`

	// Queue is how many calls may wait for a place; the default is InFlight, and
	// NoQueue is none.
	Queue int `json:"queue,omitempty"`

	// Wait is the longest a call may wait for a place. The default is the smaller
	// of 100 ms and a quarter of Attempt; it is always less than Attempt.
	Wait time.Duration `json:"wait,omitzero"`

	// Deadline bounds the whole call, with its queueing, its attempts, the pauses
	// between them and the body. The default is 10 s, the least 1 ms, the most an
	// hour. A caller's context, when shorter, wins.
	Deadline time.Duration `json:"deadline,omitzero"`

	// Attempt bounds one attempt up to its response headers. Its clock begins with
	// the place, and again with the last of the request's body that was accepted:
	// while a body moves, BodyIdle bounds each pause, and Deadline all of it. A body
	// in memory of up to 4 KiB goes out at once, and begins nothing again. The
	// default is nine
	// tenths of Deadline divided by Attempts: the last tenth is for the queue, the
	// pauses and the body. Attempts of them always fit into Deadline.
	Attempt time.Duration `json:"attempt,omitzero"`

	// Attempts is the most times one call is sent, the first included. The default
	// is 2, or 1 if the stated Attempt does not fit twice into Deadline; NoRetry,
	// or 1, sends it once. The most is 10.
	Attempts int `json:"attempts,omitempty"`

	// RetryShare is the most retries as a share of requests, in (0, 1]. The
	// default is 0.1.
	RetryShare float64 `json:"retryShare,omitempty"`

	// BodyIdle is the longest a body, of a request or a response, or a stream may go
	// without progress. The default is the smaller of 5 s and Deadline. It may exceed
	// Deadline, which does not bound a stream.
	BodyIdle time.Duration `json:"bodyIdle,omitzero"`

	// Warm is how many connections must stand before the service is ready. The
	// default is Connections.
	Warm int `json:"warm,omitempty"`

	// Rate is the peak rate this plan was made for, in requests per second of one
	// replica. It paces nothing; it is what live measurements are compared with.
	// 0 is unknown.
	Rate float64 `json:"rate,omitempty"`

	// Latency is the mean time of a call, to the end of its body, that this plan was
	// made for. It bounds nothing; it is what live measurements are compared with, to
	// tell a slow upstream from more traffic. 0 is unknown.
	Latency time.Duration `json:"latency,omitzero"`
}

// String writes the plan on one line. Fields that Resolve would fill in are left
// out.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in flight", count(p.InFlight, "place"))
	if p.Connections != 0 {
		fmt.Fprintf(&b, " on %s", count(p.Connections, "connection"))
	}
	if p.Streams > 1 {
		fmt.Fprintf(&b, " of %s", count(p.Streams, "stream"))
	}
	if p.Queue == NoQueue {
		b.WriteString(", no queue")
	} else if p.Queue != 0 {
		fmt.Fprintf(&b, ", queue %d", p.Queue)
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"wait", p.Wait}, {"deadline", p.Deadline}, {"attempt", p.Attempt}, {"body idle", p.BodyIdle}} {
		if d.value != 0 {
			fmt.Fprintf(&b, ", %s %v", d.name, d.value)
		}
	}
	if p.Attempts == NoRetry {
		b.WriteString(", no retry")
	} else if p.Attempts != 0 {
		fmt.Fprintf(&b, ", %s", count(p.Attempts, "attempt"))
	}
	if p.RetryShare != 0 {
		fmt.Fprintf(&b, ", retry share %g", p.RetryShare)
	}
	if p.Warm != 0 {
		fmt.Fprintf(&b, ", %d warm", p.Warm)
	}
	if p.Rate != 0 {
		fmt.Fprintf(&b, ", for %.4g/s", p.Rate)
		if p.Latency != 0 {
			fmt.Fprintf(&b, " of %v", p.Latency)
		}
	}
	return b.String()
}

// count writes "1 place" or "24 places".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
