package redisfleet

import (
	"fmt"
	"log/slog"
	"time"
)

// Options are what a source may be told. Nil is all defaults.
type Options struct {
	// Floor is how many places this replica has in any case: when it is new, when
	// the store is gone. The default is a quarter of an equal share among the most
	// replicas, and at least 1. A higher floor serves more without the store; a
	// lower one leaves more to move towards demand. The same for all replicas.
	Floor int

	// Lease is how long the store keeps places for a replica that it does not hear
	// from. The default is twice the plan's Deadline, and at least 10 s. It is never
	// less than twice the Deadline, since a share ends while there is still time for
	// a call, and at most an hour. A shorter lease brings the share of the dead back
	// sooner; a longer one bridges a longer loss of the store. It is renewed twenty
	// times while it lasts. The same for all replicas.
	Lease time.Duration

	// Logger gets one line when the store is lost and one when it is back. The
	// default is none: Status has the same.
	Logger *slog.Logger
}

const (
	leastLease   = 100 * time.Millisecond
	defaultLease = 10 * time.Second
	longestLease = time.Hour

	renewals   = 20 // of a lease in its time
	marginPart = 8  // of a lease is kept for clocks: twice the step that the script lets pass
)

// resolve fills in the defaults for calls that may take hold, or says what is wrong.
func (o *Options) resolve(hold time.Duration) (Options, error) {
	var r Options
	if o != nil {
		r = *o
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	byDefault := min(max(2*hold, defaultLease), longestLease)
	if r.Lease == 0 {
		r.Lease = byDefault
	}
	if least := max(2*hold, leastLease); r.Lease < least || r.Lease > longestLease {
		return r, fmt.Errorf("Options.Lease: %v is not in [%v, %v], and a plan's Deadline of %v has to fit in twice; %v would do with a Deadline up to %v",
			r.Lease, leastLease, longestLease, hold, byDefault, byDefault/2)
	}
	return r, nil
}
