package grpcadmission

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/admission"
)

func TestTheDoorCountsCallsByHowTheyEnd(t *testing.T) {
	for _, tt := range []struct {
		name   string
		handle func() error
		want   string
	}{
		{"well", func() error { return nil }, "2xx"},
		{"a caller's mistake", func() error { return status.Error(codes.NotFound, "no such order") }, "4xx"},
		{"a failure", func() error { return errors.New("broken") }, "5xx"},
		{"a panic", func() error { panic("broken") }, "5xx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := prometheus.NewRegistry()
			door, err := admission.New(one, &admission.Options{Registerer: r})
			if err != nil {
				t.Fatal(err)
			}
			defer door.Close()
			g := newGuard(t, door, nil)
			survive := func(call func()) {
				defer func() { _ = recover() }() // the handler's panic
				call()
			}
			survive(func() {
				g.Unary(t.Context(), nil, &grpc.UnaryServerInfo{FullMethod: "/shop.Orders/Place"}, func(context.Context, any) (any, error) { return nil, tt.handle() })
			})
			survive(func() {
				g.Stream(nil, contextStream{ctx: t.Context()}, &grpc.StreamServerInfo{FullMethod: "/shop.Orders/Watch"}, func(any, grpc.ServerStream) error { return tt.handle() })
			})
			if got := outcomes(t, r); len(got) != 1 || got[tt.want] != 2 {
				t.Errorf("outcomes = %v, want 2 of %s", got, tt.want)
			}
		})
	}
}

// outcomes are how many requests a door has counted, by their outcome.
func outcomes(t *testing.T, r *prometheus.Registry) map[string]uint64 {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if n := m.GetHistogram().GetSampleCount(); l.GetName() == "outcome" && n > 0 {
					counts[l.GetValue()] += n
				}
			}
		}
	}
	return counts
}

func TestStatusesAreThoseOfTheCodes(t *testing.T) {
	for code, want := range map[codes.Code]int{
		codes.OK: 200, codes.Canceled: 499, codes.Unknown: 500, codes.InvalidArgument: 400, codes.DeadlineExceeded: 504,
		codes.NotFound: 404, codes.AlreadyExists: 409, codes.PermissionDenied: 403, codes.ResourceExhausted: 429,
		codes.FailedPrecondition: 400, codes.Aborted: 409, codes.OutOfRange: 400, codes.Unimplemented: 501, codes.Internal: 500,
		codes.Unavailable: 503, codes.DataLoss: 500, codes.Unauthenticated: 401, codes.Code(99): 500,
	} {
		if got := httpStatus(code); got != want {
			t.Errorf("httpStatus(%v) = %d, want %d", code, got, want)
		}
	}
}
