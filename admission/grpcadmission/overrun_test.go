package grpcadmission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
)

func TestHandlersThatOutliveTheirCallAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		door := newDoor(t, capacity.Plan{InFlight: 2})
		after := make(chan time.Duration, 2) // its context has ended
		s := &service{unary: func(ctx context.Context) error {
			late := <-after
			<-ctx.Done()
			<-time.After(late)
			return status.FromContextError(ctx.Err()).Err() // it may be there before its caller's timer
		}}
		g := newGuard(t, door, nil)
		client := testpb.NewTestServiceClient(start(t, g, s, nil))
		call := func(late time.Duration) {
			t.Helper()
			after <- late
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := client.EmptyCall(ctx, &testpb.Empty{}); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("call = %v, want DEADLINE_EXCEEDED", err)
			}
			<-time.After(10 * time.Millisecond)
			synctest.Wait()
		}
		call(0)
		if got, want := g.Stats(), (Stats{}); got != want {
			t.Errorf("Stats() = %+v after a handler that obeys, want %+v", got, want)
		}
		call(overrunAfter)
		<-time.After(overrunAfter)
		synctest.Wait()
		if got, want := g.Stats(), (Stats{}); got != want {
			t.Errorf("Stats() = %+v after one that took %v to notice, want %+v", got, overrunAfter, want)
		}
		call(time.Second)
		if got, want := g.Stats(), (Stats{Overrunning: 1}); got != want {
			t.Errorf("Stats() = %+v while a handler overruns, want %+v", got, want)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if got, want := g.Stats(), (Stats{Overran: 1}); got != want {
			t.Errorf("Stats() = %+v after it returned, want %+v", got, want)
		}
	})
}
