//go:build !race

package grpcclient

import (
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The race detector makes allocations of its own, so that this is built without it
// only.
func TestACallCostsOneAllocationMoreThanWithoutUs(t *testing.T) {
	bare, ours := pair(t, false)
	in, out := wrapperspb.Bytes([]byte("ping")), new(wrapperspb.BytesValue)
	allocs := func(cc grpc.ClientConnInterface, deadline time.Duration) float64 {
		return testing.AllocsPerRun(3000, func() {
			if err := once(t.Context(), cc, deadline, in, out); err != nil {
				t.Fatal(err)
			}
		})
	}
	allocs(bare, time.Second) // connects
	want := allocs(bare, time.Second) + 1
	if got := allocs(ours, time.Second); got > want {
		t.Errorf("allocations with the caller's deadline = %v, want %v", got, want)
	}
	if got := allocs(ours, 0); got > want {
		t.Errorf("allocations with the plan's deadline = %v, want %v", got, want)
	}
}
