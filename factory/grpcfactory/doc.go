// Package grpcfactory has package factory speak gRPC: it makes the clients of the
// file's gRPC upstreams, and servers behind the service's door.
//
//	service, err := factory.Open("offtake.yaml", &factory.Options{
//		Protocols: []factory.Protocol{grpcfactory.Protocol(nil)},
//	})
//	fraud, err := grpcfactory.Conn(service, "fraud-check")
//
// It is a package of its own because grpc-go is: a service over HTTP alone does
// not link it.
package grpcfactory
