// Package grpcready answers grpc health checks from a readiness gate.
//
//	health, err := grpcready.New(&ready, nil)
//	healthpb.RegisterHealthServer(srv, health)
//	…
//	<-ctx.Done()
//	ready.Drain()              // watchers learn NOT_SERVING, calls go on
//	…                          // until the balancers have looked away
//	health.Shutdown(sctx, srv) // then calls finish, and the rest is cut off
//
// It takes the place of grpc's own health.Server, of which two things surprise:
// it starts as SERVING, before any pool is warm, and its watchers are calls that
// never end, so that GracefulStop waits for them for ever.
//
// A door in front (package grpcadmission) lets health checks pass: a client that
// watches them takes a refusal for a dead server.
package grpcready
