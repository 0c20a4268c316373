package grpcready

import (
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// Watch implements the health service: the status now, and at each change. It
// ends with UNAVAILABLE when the server shuts down.
//
// It is tempting to end it as soon as the gate drains, with its last news. But a
// client whose watch ends after a message watches again at once, without any
// pause, and would do so for as long as the server goes on serving.
func (s *Server) Watch(req *healthpb.HealthCheckRequest, ss grpc.ServerStreamingServer[healthpb.HealthCheckResponse]) error {
	gate, known := s.gates[req.GetService()]
	var opened, drained <-chan struct{} // nil for what never changes
	if gate != nil {
		opened, drained = gate.Opened(), gate.Drained()
	}
	told := healthpb.HealthCheckResponse_UNKNOWN
	for ending := false; ; {
		now := healthpb.HealthCheckResponse_SERVICE_UNKNOWN
		if known {
			now = serving(gate)
		}
		if now != told {
			if err := ss.Send(&healthpb.HealthCheckResponse{Status: now}); err != nil {
				return err
			}
			told = now
		}
		if ending {
			return status.Error(codes.Unavailable, "the server is shutting down")
		}
		select {
		case <-opened:
			opened = nil
		case <-drained:
			drained = nil
		case <-s.ending:
			ending = true
		case <-ss.Context().Done():
			return status.FromContextError(ss.Context().Err()).Err()
		}
	}
}
