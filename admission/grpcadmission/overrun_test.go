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
		obeys := make(chan bool, 2)
		s := &service{unary: func(ctx context.Context) error {
			if <-obeys {
				<-ctx.Done()
			} else {
				<-time.After(time.Second)
			}
			return nil
		}}
		g := newGuard(t, door, nil)
		client := testpb.NewTestServiceClient(start(t, g, s, nil))
		call := func(o bool) {
			t.Helper()
			obeys <- o
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := client.EmptyCall(ctx, &testpb.Empty{}); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("call = %v, want DEADLINE_EXCEEDED", err)
			}
			<-time.After(10 * time.Millisecond)
			synctest.Wait()
		}
		call(true)
		if got, want := g.Stats(), (Stats{}); got != want {
			t.Errorf("Stats() = %+v after a handler that obeys, want %+v", got, want)
		}
		call(false)
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
