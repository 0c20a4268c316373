package grpcfactory

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/offtake-go/offtake/admission/grpcadmission"
	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/readiness"
	"github.com/offtake-go/offtake/readiness/grpcready"
)

// ServerOptions is how a server is wired. Nil, and every zero field, is a default
// that is safe.
type ServerOptions struct {
	// Exempt are methods that pass the door without a place, each as
	// "/package.Service/Method", or "/package.Service/*" for a whole service. Health
	// and reflection always do.
	Exempt []string

	// Services are names that clients may ask the health service for, beside "". Each
	// is served while the service's readiness gate is open.
	Services []string

	// Options pass through to grpc-go, after those that are set here, so that they
	// win: credentials, interceptors, which see only what the door lets in, limits.
	Options []grpc.ServerOption
}

// Server is a grpc server behind a service's door, whose health is the service's
// readiness. Make one with [NewServer], register services with it before it
// serves, and give it to factory.Service.RunOn in a factory.Listener, which stops
// it. Reflection is the user's to register.
type Server struct {
	*grpc.Server
	health *grpcready.Server
}

const (
	serverStreams = 100              // grpc-go's default is none; clients of this module assume 100 until told
	handshakeTime = 10 * time.Second // grpc-go's default is 2 min
	headerBytes   = 64 << 10         // grpc-go's default is 16 MiB; Envoy lets 60 KiB pass
	oldest        = 10 * time.Minute // so that new replicas get their share; calls that run finish
	longestIdle   = 15 * time.Minute // grpc-go clients idle after 30 min
	pingAfter     = 2 * time.Minute  // a peer that is gone is found within pingAfter and pingTime
	pingTime      = 20 * time.Second
	pingMost      = 10 * time.Second // clients that ping more often are sent away: gRPC's own least
)

// NewServer returns a server, or all mistakes of the options at once. A file
// without a door makes one that takes in whatever comes.
func NewServer(s *factory.Service, options *ServerOptions) (*Server, error) {
	var o ServerOptions
	if options != nil {
		o = *options
	}
	gates := make(map[string]*readiness.Gate, len(o.Services))
	for _, name := range o.Services {
		gates[name] = s.Ready()
	}
	health, err := grpcready.New(s.Ready(), &grpcready.Options{Services: gates})
	all := []grpc.ServerOption{
		grpc.MaxConcurrentStreams(serverStreams),
		grpc.ConnectionTimeout(handshakeTime),
		grpc.MaxHeaderListSize(headerBytes),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(keepalive.ServerParameters{
			MaxConnectionAge: oldest, MaxConnectionIdle: longestIdle, Time: pingAfter, Timeout: pingTime,
		}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: pingMost, PermitWithoutStream: true}),
	}
	if door := s.Door(); door != nil {
		guard, guardErr := grpcadmission.New(door, &grpcadmission.Options{Exempt: o.Exempt})
		if guardErr == nil {
			all = append(all, grpc.ChainUnaryInterceptor(guard.Unary), grpc.ChainStreamInterceptor(guard.Stream))
		}
		err = errors.Join(err, guardErr)
	}
	if err != nil {
		return nil, fmt.Errorf("grpcfactory: %w", err)
	}
	server := &Server{Server: grpc.NewServer(append(all, o.Options...)...), health: health}
	grpc_health_v1.RegisterHealthServer(server, health)
	return server, nil
}

// Serve implements factory.Server.
func (s *Server) Serve(l net.Listener) error {
	if err := s.Server.Serve(l); !errors.Is(err, grpc.ErrServerStopped) {
		return err
	}
	return nil
}

// Shutdown implements factory.Server: calls that run have until the end of ctx, and
// streams without end are cut off then.
func (s *Server) Shutdown(ctx context.Context) error { return s.health.Shutdown(ctx, s.Server) }
