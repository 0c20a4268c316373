package grpcready

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/readiness"
)

// Liveness is a service name that is always SERVING. Name it in a Kubernetes
// liveness probe: with the readiness of the process there, a drain or a slow
// start would end in a restart.
const Liveness = "liveness"

// Options is how a health service is wired. Nil is the default.
type Options struct {
	// Services are the names that clients may ask for beside "", each with the gate
	// that answers: the process's own, or one for what that service needs. The
	// default is none. A client that names no service asks for "".
	Services map[string]*readiness.Gate
}

// Server is a grpc health service, to be registered with
// healthpb.RegisterHealthServer. Make one with [New]; all methods may be called
// from any goroutine. Each watch is a goroutine of the grpc server, which ends
// with its client or by [Server.Shutdown].
type Server struct {
	healthpb.UnimplementedHealthServer
	gates  map[string]*readiness.Gate // of Liveness: nil
	ending chan struct{}
	end    func()
}

// New returns a health service for a gate, or every mistake at once.
func New(gate *readiness.Gate, options *Options) (*Server, error) {
	gates := map[string]*readiness.Gate{"": gate, Liveness: nil}
	var errs []error
	if gate == nil {
		errs = append(errs, errors.New("gate: it is nil; the process's readiness.Gate would do"))
	}
	if options != nil {
		for _, name := range slices.Sorted(maps.Keys(options.Services)) {
			switch _, taken := gates[name]; {
			case taken:
				errs = append(errs, fmt.Errorf("Options.Services[%q]: this name has its answer already; the full name of a service would do, as package.Service", name))
			case options.Services[name] == nil:
				errs = append(errs, fmt.Errorf("Options.Services[%q]: its gate is nil; the process's readiness.Gate would do", name))
			}
			gates[name] = options.Services[name]
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("grpcready: %w", err)
	}
	s := &Server{gates: gates, ending: make(chan struct{})}
	s.end = sync.OnceFunc(func() { close(s.ending) })
	return s, nil
}

// serving is what a gate says; a nil one is Liveness.
func serving(gate *readiness.Gate) healthpb.HealthCheckResponse_ServingStatus {
	if gate == nil || gate.State() == readiness.Ready {
		return healthpb.HealthCheckResponse_SERVING
	}
	return healthpb.HealthCheckResponse_NOT_SERVING
}

// Check implements the health service: SERVING while the gate is open, and
// NOT_SERVING before and after. The error for an unknown service is NOT_FOUND.
func (s *Server) Check(_ context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	gate, known := s.gates[req.GetService()]
	if !known {
		return nil, status.Error(codes.NotFound, "unknown service")
	}
	return &healthpb.HealthCheckResponse{Status: serving(gate)}, nil
}

// List implements the health service.
func (s *Server) List(context.Context, *healthpb.HealthListRequest) (*healthpb.HealthListResponse, error) {
	statuses := make(map[string]*healthpb.HealthCheckResponse, len(s.gates))
	for name, gate := range s.gates {
		statuses[name] = &healthpb.HealthCheckResponse{Status: serving(gate)}
	}
	return &healthpb.HealthListResponse{Statuses: statuses}, nil
}
