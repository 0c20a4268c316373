package simulate

import "fmt"

// A Cause says how a call or a request ended.
type Cause uint8

// The causes.
const (
	Served          Cause = iota // answered in time
	CallerTimeout                // the caller stopped waiting
	ProxyTimeout                 // the caller's proxy stopped waiting: 504
	NoHealthy                    // every replica is ejected: 503 UH
	BreakerOpen                  // Proxy.MaxRequests are in flight: 503 UO
	Unconnected                  // no process listens there, or it was killed: 503
	BrokenReplica                // Event.Break: 503
	WarmingReplica               // a replica that is not warm yet: 503 or 429
	DoorFull                     // no place in the door: 503 or 429
	PoolFull                     // no place in the client: 503 or 429
	ClientTimeout                // Client.Deadline ran out, in the queue or upstream: 504
	UpstreamError                // the upstream failed: 502
	UpstreamRefused              // over Upstream.Limit: 503 or 429
	causes          = iota
)

var causeNames = [causes]string{
	"served", "caller timeout", "proxy timeout", "no healthy replica", "breaker open",
	"connection refused", "broken replica", "warming replica", "door full", "pool full",
	"client deadline", "upstream error", "upstream refused",
}

// String names the cause in words.
func (c Cause) String() string {
	if int(c) < len(causeNames) {
		return causeNames[c]
	}
	return fmt.Sprintf("Cause(%d)", uint8(c))
}

// MarshalText writes the name, so that a Cause can be a key in JSON.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (c *Cause) UnmarshalText(b []byte) error {
	for i, name := range causeNames {
		if name == string(b) {
			*c = Cause(i)
			return nil
		}
	}
	return fmt.Errorf("simulate: %q is no cause", b)
}

// An answer is what comes back for a request.
type answer struct {
	status int // as in HTTP
	cause  Cause
}

var served = answer{200, Served}

func (b Busy) answer(c Cause) answer {
	if b == Answer503 {
		return answer{503, c}
	}
	return answer{429, c}
}
