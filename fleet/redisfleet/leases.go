package redisfleet

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

// Leases is this replica's share of a limit by lease. It is a fleet.Source; make
// one with [New], one for each client.
type Leases struct {
	do      func(context.Context, request) (reply, error)
	reserve fleet.Reserve
	options Options

	mu     sync.Mutex
	status fleet.Status
}

var _ fleet.Source = (*Leases)(nil)

// New returns a source that leases places from store: a redis.Client, ClusterClient
// or Ring, which stays the caller's. It does no I/O. All replicas, and nobody else,
// use the same name for the limit: the upstream's would do.
//
// whole is the plan whose InFlight all replicas have together, and maxReplicas the
// most that are ever alive at the same time: see fleet.NewReserve. The limit, the
// floor and the lease are the same in all of them. Through a rollout that changes
// them the smaller pool holds, but floors already raised and leases not yet given
// back can add up to more than the new limit until it is over.
func New(store redis.Scripter, name string, whole capacity.Plan, maxReplicas int, options *Options) (*Leases, error) {
	var o Options
	var floor int
	if options != nil {
		floor = options.Floor
	}
	reserve, err := fleet.NewReserve(whole, maxReplicas, floor)
	errs := []error{err}
	if resolved, err := whole.Resolve(); err == nil { // else NewReserve has said it
		o, err = options.resolve(resolved.Deadline)
		errs = append(errs, err)
	}
	if store == nil {
		errs = append(errs, errors.New(`store: it is nil; redis.NewClient(&redis.Options{Addr: "redis:6379", ContextTimeoutEnabled: true}) would do`))
	}
	if name == "" {
		errs = append(errs, errors.New(`name: it is empty; the upstream's, like "card-processor", would do`))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("redisfleet: %w", err)
	}
	return newLeases(scriptFor(store, name).do, reserve, o), nil
}

func newLeases(do func(context.Context, request) (reply, error), reserve fleet.Reserve, o Options) *Leases {
	return &Leases{
		do:      do,
		reserve: reserve,
		options: o,
		status:  fleet.Status{Places: reserve.Floor(), Floor: reserve.Floor()},
	}
}

// Floor is the plan to build the client with.
func (l *Leases) Floor() capacity.Plan {
	plan, _ := l.reserve.Plan(0) // a part in the pool always resolves
	return plan
}

// Status says what is known. Replicas is how many had a lease when the store last
// answered.
func (l *Leases) Status() fleet.Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

// note records the outcome of a request, and logs when it is not that of the last.
func (l *Leases) note(ctx context.Context, members int, err error) {
	l.mu.Lock()
	was := l.status.Err
	l.status.Err = err
	if err == nil {
		l.status.Replicas = members
	}
	l.mu.Unlock()
	switch {
	case err != nil && was == nil:
		l.options.Logger.WarnContext(ctx, "redisfleet: the lease can not be renewed", "err", err)
	case err == nil && was != nil:
		l.options.Logger.InfoContext(ctx, "redisfleet: the lease is renewed again", "replicas", members)
	}
}
