package grpcready

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc"
)

// stopTime is what the calls that are cut off have to end. Those of handlers that
// obey their context need a moment of it.
const stopTime = 100 * time.Millisecond

// Shutdown drains every gate, ends the watches, and stops srv: no new calls, and
// those that run have until the end of ctx. What is left then, streams without
// end above all, is cut off: its clients see UNAVAILABLE, its handlers the end of
// their contexts, and Shutdown returns context.Cause(ctx).
//
// Give ctx a deadline: without one, a stream without end keeps Shutdown for
// ever. It returns at most 100 ms after it, even if handlers go on: grpc-go can
// not end those, nor a connection in its handshake, which holds Stop up for
// grpc.ConnectionTimeout, 2 min by default; 5 s would do.
//
// A readiness.Gate that was not drained some time before costs calls: clients
// that still send to this server find it gone.
func (s *Server) Shutdown(ctx context.Context, srv *grpc.Server) error {
	for _, gate := range s.gates {
		if gate != nil {
			gate.Drain()
		}
	}
	s.end()
	stopped := make(chan struct{})
	go func() {
		srv.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
	}
	go srv.Stop() // it ends when GracefulStop does, which can be late: see above
	select {
	case <-stopped:
	case <-time.After(stopTime):
	}
	return fmt.Errorf("grpcready: calls were cut off: %w", context.Cause(ctx))
}
