// Package gate measures the gate beside golang.org/x/sync/semaphore, which has
// neither a bound on its queue nor a longest wait.
package gate

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/offtake-go/offtake/internal/gate"
)

func BenchmarkEnterAndLeave(b *testing.B) {
	ctx := b.Context()
	b.Run("gate", func(b *testing.B) {
		g := gate.New(gate.Limits{Places: 1, Queue: 1, Wait: time.Second})
		b.ReportAllocs()
		for b.Loop() {
			g.Enter(ctx)
			g.Leave()
		}
	})
	b.Run("semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(1)
		b.ReportAllocs()
		for b.Loop() {
			s.Acquire(ctx, 1)
			s.Release(1)
		}
	})
}

func BenchmarkContended(b *testing.B) {
	b.Run("gate", func(b *testing.B) {
		g := gate.New(gate.Limits{Places: 1, Queue: 1 << 20, Wait: time.Minute})
		contend(b, func(ctx context.Context) {
			g.Enter(ctx)
			g.Leave()
		})
	})
	b.Run("semaphore", func(b *testing.B) {
		s := semaphore.NewWeighted(1)
		contend(b, func(ctx context.Context) {
			s.Acquire(ctx, 1)
			s.Release(1)
		})
	})
}

func contend(b *testing.B, pass func(context.Context)) {
	ctx := b.Context()
	b.SetParallelism(16)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			pass(ctx)
		}
	})
}

// BenchmarkFullQueue hands every place over to a waiter: a thousand goroutines
// share one place.
func BenchmarkFullQueue(b *testing.B) {
	g := gate.New(gate.Limits{Places: 1, Queue: 2000, Wait: time.Minute})
	ctx := b.Context()
	b.SetParallelism(500)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			g.Enter(ctx)
			g.Leave()
		}
	})
}

func BenchmarkRefuse(b *testing.B) {
	ctx := b.Context()
	g := gate.New(gate.Limits{Places: 1})
	g.Enter(ctx)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := g.Enter(ctx); err == nil {
			b.Fatal("Enter() = nil, want a refusal")
		}
	}
}
