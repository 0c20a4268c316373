package telemetry

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/redact"
)

// failures are the last errors, one of each outcome: a metric says how many there
// were, and not what was wrong.
type failures [Outcomes]atomic.Pointer[offtake.Failure]

// Failed keeps an error as the last one of its outcome, if it is the upstream's.
// Those of the caller come at any rate, and a refusal must cost nothing.
//
// The text is made here, though nobody may ever read it. It is tempting to keep
// the error instead; but nobody knows what an error holds on to.
func (c *Client) Failed(o Outcome, now time.Time, err error) {
	if err != nil && (o.Failed() || o.saidBusy()) {
		c.failures[o].Store(&offtake.Failure{Outcome: o.String(), Text: redact.Text(err.Error()), At: now})
	}
}

// Failures are the last errors, the latest first.
func (c *Client) Failures() []offtake.Failure {
	var all []offtake.Failure
	for i := range c.failures {
		if f := c.failures[i].Load(); f != nil {
			all = append(all, *f)
		}
	}
	slices.SortStableFunc(all, func(a, b offtake.Failure) int { return b.At.Compare(a.At) })
	return all
}
