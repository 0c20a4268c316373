//go:build !race

package guard

import (
	"context"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

// TestACallAllocatesOnce is the price of a guard: its call, with the context in it.
func TestACallAllocatesOnce(t *testing.T) {
	g := open(t, capacity.Plan{InFlight: 4})
	ctx := t.Context()
	f := func(ctx context.Context) error { return ctx.Err() }
	with := func(ctx context.Context) (int, error) { return 1, ctx.Err() }
	for name, call := range map[string]func(){
		"Do":            func() { _ = g.Do(ctx, f) },
		"Do idempotent": func() { _ = g.Do(ctx, f, Idempotent) },
		"Call":          func() { _, _ = Call(ctx, g, with) },
		"Take": func() {
			if p, err := g.Take(ctx); err == nil {
				_ = p.Done(nil)
			}
		},
	} {
		if got := testing.AllocsPerRun(1000, call); got > 1 {
			t.Errorf("allocations of %s = %v, want at most 1", name, got)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	plan, err := capacity.Plan{InFlight: 4}.Resolve()
	if err != nil {
		b.Fatal(err)
	}
	g, err := New(plan, &Options{Name: b.Name()})
	if err != nil {
		b.Fatal(err)
	}
	defer g.Close()
	f := func(context.Context) error { return nil }
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			_ = f(b.Context())
		}
	})
	b.Run("timeout", func(b *testing.B) { // what one would write by hand
		for b.Loop() {
			ctx, cancel := context.WithTimeout(b.Context(), plan.Deadline)
			_ = f(ctx)
			cancel()
		}
	})
	b.Run("guard", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = g.Do(b.Context(), f)
		}
	})
}
