// Package grpcadmission puts a door of package admission in front of a grpc-go
// server.
//
//	guard, err := grpcadmission.New(door, nil)
//	srv := grpc.NewServer(
//		grpc.ChainUnaryInterceptor(guard.Unary),
//		grpc.ChainStreamInterceptor(guard.Stream),
//	)
//
// The interceptors go first in their chains, so that a refused call costs nothing
// behind them. One door may stand in front of HTTP and gRPC alike: they share its
// places.
//
// # What a refused call is told
//
// RESOURCE_EXHAUSTED, with two details: google.rpc.ErrorInfo, whose [Reason] and
// [Domain] tell a busy server from a message that is too large, which has the
// same code; and google.rpc.RetryInfo with the delay that the door estimates. The
// same delay is in the trailer grpc-retry-pushback-ms, or −1 if the caller's
// deadline comes first: grpc-go's own retries would otherwise sleep through to
// it. No header is sent before the verdict, since only such an answer can be
// retried and is seen by a proxy: Envoy reads RESOURCE_EXHAUSTED in it as 429,
// which its outlier detection takes for a healthy answer. UNAVAILABLE would be a
// 503, and is for a door that drains.
//
// The outlier detection of gRPC itself counts every error as a failure, this one
// too. With it, keep its largest share of ejected hosts low, or bound the calls
// at the client, where they do not reach the picker.
//
// # Streams
//
// A stream keeps its place until its handler returns. Streams that last must not
// share places with calls that do not: give them a Guard with a door of their
// own, and use the Unary of one and the Stream of the other.
package grpcadmission
