package clienttest

import (
	"context"
	"errors"
	"testing"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/gate"
)

// TestTheSmallestClientHasAllBehaviours runs the table against a gate around a
// function: what no client needs a connection for.
func TestTheSmallestClientHasAllBehaviours(t *testing.T) {
	Run(t, Subject{Open: func(t *testing.T, s Setup) Client {
		plan, err := s.Plan.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		g := gate.New(limits(plan))
		return Client{
			Call: func(ctx context.Context) error { return call(ctx, g, plan, s) },
			Load: func() (int, int) {
				now := g.Snapshot()
				return now.InFlight, now.Waiting
			},
			Resize: func(p capacity.Plan) error {
				p, err := p.Resolve()
				if err == nil {
					g.Resize(limits(p))
				}
				return err
			},
			Shutdown: g.Drain,
			Close: func() error {
				g.Close()
				return nil
			},
		}
	}})
}

func limits(p capacity.Plan) gate.Limits {
	return gate.Limits{Places: p.InFlight, Queue: max(0, p.Queue), Wait: p.Wait}
}

func call(ctx context.Context, g *gate.Gate, plan capacity.Plan, s Setup) error {
	waited, err := g.Enter(ctx)
	if refusal, ok := errors.AsType[*gate.Refusal](err); ok {
		return g.Explain("upstream", waited, refusal)
	}
	if err != nil {
		return err
	}
	defer g.Leave()
	ctx, cancel := context.WithTimeout(ctx, plan.Attempt)
	defer cancel()
	if s.Before != nil {
		s.Before()
	}
	if err := s.Handle(ctx); err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	return nil
}
