package fleet

import (
	"context"
	"fmt"

	"github.com/offtake-go/offtake/capacity"
)

// Static is an equal share among a number of replicas that does not change. Make
// one with [NewStatic].
type Static struct {
	plan     capacity.Plan
	replicas int
}

// NewStatic returns the share of one of replicas. Count the most that are ever
// alive together: a rolling update has new ones beside the old, and a terminating
// one holds places until it has drained.
func NewStatic(whole capacity.Plan, replicas int) (*Static, error) {
	plan, err := whole.Share(replicas)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return &Static{plan: plan, replicas: replicas}, nil
}

// Floor is the share.
func (s *Static) Floor() capacity.Plan { return s.plan }

// Follow calls resize once and waits for ctx.
func (s *Static) Follow(ctx context.Context, resize func(capacity.Plan) error, _ func() Use) error {
	if err := resize(s.plan); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// Status says what was stated.
func (s *Static) Status() Status {
	return Status{Places: s.plan.InFlight, Floor: s.plan.InFlight, Replicas: s.replicas}
}
