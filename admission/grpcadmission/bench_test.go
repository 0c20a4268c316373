package grpcadmission

import (
	"context"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
)

func BenchmarkUnary(b *testing.B) {
	info := &grpc.UnaryServerInfo{FullMethod: "/pkg.Service/Method"}
	handler := func(context.Context, any) (any, error) { return nil, nil }
	bench := func(taken bool) func(*testing.B) {
		return func(b *testing.B) {
			door, err := admission.New(capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, &admission.Options{Registerer: prometheus.NewRegistry()})
			if err != nil {
				b.Fatal(err)
			}
			defer door.Close()
			g, err := New(door, nil)
			if err != nil {
				b.Fatal(err)
			}
			if taken {
				place, err := door.Acquire(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				defer place.Release()
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			b.ReportAllocs()
			for b.Loop() {
				g.Unary(ctx, nil, info, handler)
			}
		}
	}
	b.Run("passing", bench(false))
	b.Run("refusing", bench(true))
}
