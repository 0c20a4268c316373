package simulate

import "context"

// Options are how a scenario is run. A nil *Options is all defaults.
type Options struct {
	// Seed decides every draw. Runs of the same scenario and seed are equal. The
	// default, 0, is a seed like any other.
	Seed uint64

	// Progress, if set, is called with the share of the run that is done, in
	// (0, 1], some hundred times, by the goroutine that runs.
	Progress func(done float64)
}

// patience is how many events pass between two looks at the context: some tens of
// milliseconds' worth.
const patience = 1 << 16

// Run plays the scenario once and returns what happened. It returns all mistakes
// of the scenario at once, each a [*Mistake]; context.Cause(ctx) when ctx ends
// first; or an error when the timeouts that are set at once outgrow half a gigabyte.
//
// Run checks the laws that hold in every scenario while it runs: each call ends
// exactly once, no place is held twice or by nobody. A run that breaks one is a
// bug of this package and returns an error that says so.
func Run(ctx context.Context, s Scenario, o *Options) (*Result, error) {
	resolved, err := s.Resolve()
	if err != nil {
		return nil, err
	}
	if o == nil {
		o = &Options{}
	}
	e := newEngine(&resolved, o.Seed)
	for i := int64(1); i <= points; i++ {
		for done := false; !done; {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if err := e.overgrown(); err != nil {
				return nil, err
			}
			done = e.runUntil(e.end/points*i, patience)
		}
		e.check()
		if e.broken != nil {
			return nil, e.broken
		}
		if o.Progress != nil {
			o.Progress(float64(i) / points)
		}
	}
	return e.result(o.Seed), nil
}
