package grpcfactory_test

import (
	"context"
	"crypto/tls"
	"log"
	"net/http"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/factory/grpcfactory"
)

// A service that is called over gRPC and over HTTP, each on a port of its own, and
// calls an upstream over gRPC.
func Example() {
	service, err := factory.Open("offtake.yaml", &factory.Options{
		Protocols: []factory.Protocol{grpcfactory.Protocol(nil)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fraud, err := grpcfactory.Conn(service, "fraud-check")
	if err != nil {
		log.Fatal(err)
	}
	_ = grpc_health_v1.NewHealthClient(fraud) // any generated client

	server, err := grpcfactory.NewServer(service, nil) // with the door, and the gate as its health
	if err != nil {
		log.Fatal(err)
	}
	// fraudpb.RegisterFraudServer(server, …)

	certificate, err := factory.LoadCertificate("tls.crt", "tls.key")
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(service.RunOn(context.Background(),
		factory.Listener{Address: ":9000", Server: server, TLS: &tls.Config{GetCertificate: certificate.Get}},
		factory.Listener{Address: ":8080", Handler: http.DefaultServeMux},
	))
}
