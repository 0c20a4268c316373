package simreport

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/capacity/simulate/scenario"
)

const (
	diffSeeds    = 5
	diffDuration = 5 * time.Minute
)

// Diff simulates each upstream that two versions of a contract have, at peak and,
// if one of them states a degraded latency, with that. It writes what changed for
// the caller: the figures whose ranges over five seeds do not overlap.
func Diff(ctx context.Context, before, after *contract.Contract, w io.Writer) error {
	for _, name := range slices.Sorted(maps.Keys(after.Upstreams)) {
		if _, ok := before.Upstreams[name]; !ok {
			continue
		}
		if err := diffOne(ctx, before, after, name, 0, w); err != nil {
			return err
		}
		degraded := max(before.Upstreams[name].Degraded, after.Upstreams[name].Degraded)
		if degraded == 0 {
			continue
		}
		if err := diffOne(ctx, before, after, name, degraded, w); err != nil {
			return err
		}
	}
	return nil
}

// diffOne compares one upstream, at its own latency or at that given.
func diffOne(ctx context.Context, before, after *contract.Contract, upstream string, latency time.Duration, w io.Writer) error {
	var scenarios []simulate.Scenario
	for _, c := range []*contract.Contract{before, after} {
		s, err := scenario.Of(c, upstream)
		if err != nil {
			return err
		}
		s.Duration = diffDuration
		if latency > 0 {
			s.Upstream.Latency = simulate.Latency{Mean: latency, CV: 1}
		}
		scenarios = append(scenarios, s)
	}
	grid, err := simulate.Grid(ctx, scenarios, diffSeeds, nil)
	if err != nil {
		return err
	}
	when := "at peak"
	if latency > 0 {
		when = fmt.Sprintf("at peak, with a latency of %v", latency)
	}
	fmt.Fprintf(w, "%s %s\n", upstream, when)
	changed := false
	for _, f := range figures() {
		old, now := simulate.Over(grid[0], f.of), simulate.Over(grid[1], f.of)
		if old.Min <= now.Max && now.Min <= old.Max {
			continue
		}
		if a, b := f.format(old.Mean), f.format(now.Mean); a != b {
			fmt.Fprintf(w, "  %-28s %s → %s\n", f.name, a, b)
			changed = true
		}
	}
	if !changed {
		fmt.Fprintf(w, "  nothing changes for the caller: %s of calls fail\n", figures()[0].format(simulate.Over(grid[1], figures()[0].of).Mean))
	}
	return nil
}
