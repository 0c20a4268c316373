package httpclient

import (
	"slices"
	"time"

	"github.com/offtake-go/offtake/internal/redact"
)

// Endpoint is one address of the upstream, as this client sees it.
type Endpoint struct {
	Address  string        `json:"address"`
	State    string        `json:"state"`    // "ok", "starting" (new, and given its share slowly), "failing" or "slow"
	LeftOut  bool          `json:"leftOut"`  // it gets a trial call now and then, or in observe mode would
	InFlight int           `json:"inFlight"` // calls there
	Share    float64       `json:"share"`    // of the calls of the last minute or so, in [0, 1]
	Age      time.Duration `json:"age"`      // since it was first named; 0 for those that there were from the start
	Typical  time.Duration `json:"typical"`  // median time to its headers
	Failures uint64        `json:"failures"` // since it was first named
	Error    string        `json:"error,omitempty"`
	FailedAt time.Time     `json:"failedAt,omitzero"`
}

// Endpoints are the addresses of the target's own host, those that are left out
// first, and then those that failed last. Behind a proxy, or one virtual address,
// there is one. Those of a client that New has not made are none.
func (c *Client) Endpoints() []Endpoint {
	core, err := c.alive()
	if err != nil {
		return nil
	}
	var all []Endpoint
	for _, s := range core.pool.Endpoints(core.target.host) {
		all = append(all, Endpoint{
			Address: s.Name, State: s.State, LeftOut: s.Out, InFlight: s.InFlight, Share: s.Share, Age: s.Age,
			Typical: s.Typical, Failures: s.Failures, Error: redact.Text(s.Error), FailedAt: s.FailedAt,
		})
	}
	slices.SortStableFunc(all, func(a, b Endpoint) int {
		switch {
		case a.LeftOut && !b.LeftOut:
			return -1
		case b.LeftOut && !a.LeftOut:
			return 1
		}
		return b.FailedAt.Compare(a.FailedAt)
	})
	return all
}
