// Package grpcupstream is package offtaketest for gRPC: an upstream for tests, with
// trouble that follows a script.
//
//	u := grpcupstream.Pipes(t, register, grpcupstream.Busy(time.Second), grpcupstream.OK())
//	orders := orderspb.NewOrdersClient(u.Conn(t, capacity.Plan{}, nil))
package grpcupstream
