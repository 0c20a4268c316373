package simulate

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// Repeat runs the scenario with n seeds, Options.Seed and those after it, on all
// cores, and returns the results in the order of the seeds. What one seed shows
// another may not: judge by the [Spread].
func Repeat(ctx context.Context, s Scenario, n int, o *Options) ([]*Result, error) {
	grid, err := Grid(ctx, []Scenario{s}, n, o)
	if err != nil {
		return nil, err
	}
	return grid[0], nil
}

// Grid runs each scenario with n seeds on all cores. Row i of the result is of
// scenario i. Options.Progress is told of all runs together, by one goroutine at a
// time.
//
// Grid returns the mistakes of all scenarios before it runs any.
func Grid(ctx context.Context, scenarios []Scenario, n int, o *Options) ([][]*Result, error) {
	if o == nil {
		o = &Options{}
	}
	errs := []error{}
	if n < 1 {
		errs = append(errs, fmt.Errorf("simulate: %d seeds run nothing; 5 would do", n))
	}
	for _, s := range scenarios {
		if _, err := s.Resolve(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	g := &grid{
		scenarios: scenarios, options: *o, results: make([][]*Result, len(scenarios)),
		done: make([]float64, len(scenarios)*n),
	}
	for i := range g.results {
		g.results[i] = make([]*Result, n)
	}
	return g.run(ctx, n)
}

type grid struct {
	scenarios []Scenario
	options   Options

	mu      sync.Mutex // guards what is below
	results [][]*Result
	done    []float64 // share of each run
	sum     float64   // of done
	err     error     // of the first run that failed
}

func (g *grid) run(ctx context.Context, n int) ([][]*Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	jobs := make(chan int, len(g.done))
	for i := range g.done {
		jobs <- i
	}
	close(jobs)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(g.done)) {
		workers.Go(func() {
			for job := range jobs {
				if err := g.one(ctx, job, n); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	workers.Wait()
	if g.err != nil {
		return nil, g.err
	}
	return g.results, nil
}

// one runs job, which is one seed of one scenario.
func (g *grid) one(ctx context.Context, job, n int) error {
	o := Options{Seed: g.options.Seed + uint64(job%n)}
	if g.options.Progress != nil {
		o.Progress = func(done float64) { g.progress(job, done) }
	}
	r, err := Run(ctx, g.scenarios[job/n], &o)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil && g.err == nil {
		g.err = err
	}
	g.results[job/n][job%n] = r
	return err
}

func (g *grid) progress(job int, done float64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sum += done - g.done[job]
	g.done[job] = done
	g.options.Progress(min(1, g.sum/float64(len(g.done))))
}

// A Spread is one number over several seeds.
type Spread struct{ Mean, Min, Max float64 }

// Over returns the spread of a number over the results, which must not be empty.
func Over(results []*Result, number func(*Result) float64) Spread {
	first := number(results[0])
	s := Spread{Min: first, Max: first}
	for _, r := range results {
		x := number(r)
		s.Mean += x / float64(len(results))
		s.Min, s.Max = min(s.Min, x), max(s.Max, x)
	}
	return s
}
