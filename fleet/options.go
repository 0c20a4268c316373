package fleet

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// Options are what counting sources may be told. Nil is all defaults.
type Options struct {
	// Floor is how many places this replica has in any case: when it is new, when
	// nothing can be counted. The default is a quarter of an equal share among the
	// most replicas, and at least 1. A higher floor serves more while the count is
	// unknown; a lower one leaves less idle while few replicas run.
	Floor int

	// Interval is the time between two counts, and the longest that one may take.
	// The default is 5 s, the least 10 ms. A count is out of date after four.
	Interval time.Duration

	// Lag is how old an answer can be when it arrives: all caches on its way, added
	// up. The default is 30 s, the time that CoreDNS's cache plugin keeps an answer
	// unless told otherwise. Too short a Lag breaks the promise; too long a one
	// delays a rise.
	Lag time.Duration

	// Grace is how long a replica may hold places after it is no longer counted:
	// Kubernetes' terminationGracePeriodSeconds. The default is 30 s, as there.
	Grace time.Duration

	// Logger gets one line when the count is lost and one when it is back. The
	// default is none: Status has the same.
	Logger *slog.Logger

	// Resolver is what NewDNS asks. The default is net.DefaultResolver.
	Resolver *net.Resolver

	// Self are the addresses under which NewDNS looks for this replica in the
	// answer. The default is all addresses of this machine's interfaces; state them
	// where the Service lists others, as with host ports behind a translation.
	Self []netip.Addr
}

const (
	defaultInterval = 5 * time.Second
	defaultLag      = 30 * time.Second
	defaultGrace    = 30 * time.Second
	leastInterval   = 10 * time.Millisecond
	longest         = time.Hour
)

// resolve fills in the defaults, or says all that is wrong.
func (o *Options) resolve() (Options, []error) {
	var r Options
	if o != nil {
		r = *o
	}
	errs := []error{
		duration("Interval", &r.Interval, leastInterval, defaultInterval),
		duration("Lag", &r.Lag, time.Millisecond, defaultLag),
		duration("Grace", &r.Grace, time.Millisecond, defaultGrace),
	}
	if r.Logger == nil {
		r.Logger = slog.New(slog.DiscardHandler)
	}
	if r.Resolver == nil {
		r.Resolver = net.DefaultResolver
	}
	return r, errs
}

func duration(field string, d *time.Duration, least, byDefault time.Duration) error {
	if *d == 0 {
		*d = byDefault
	}
	if *d < least || *d > longest {
		return fmt.Errorf("Options.%s: %v is not in [%v, %v]; %v would do, or 0 for the default", field, *d, least, longest, byDefault)
	}
	return nil
}
