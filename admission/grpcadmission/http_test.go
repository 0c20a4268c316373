package grpcadmission

import (
	"crypto/x509"
	"net/http/httptest"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/capacity"
)

// A grpc server may sit behind the HTTP door, beside other handlers. Its clients
// must not read the refusal as UNAVAILABLE, as they do a plain 429.
func TestTheHTTPDoorSpeaksGRPCToAGRPCClient(t *testing.T) {
	door := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Millisecond})
	srv := grpc.NewServer()
	testpb.RegisterTestServiceServer(srv, &service{})
	web := httptest.NewUnstartedServer(door.Handler(srv))
	web.EnableHTTP2 = true
	web.StartTLS()
	defer web.Close()
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())
	creds := credentials.NewClientTLSFromCert(roots, "example.com") // the name in httptest's certificate
	conn, err := grpc.NewClient("passthrough:///"+web.Listener.Addr().String(), grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := testpb.NewTestServiceClient(conn)
	if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
		t.Errorf("call through a free door = %v, want nil", err)
	}

	place := take(t, door)
	var header, trailer metadata.MD
	_, err = client.EmptyCall(t.Context(), &testpb.Empty{}, grpc.Header(&header), grpc.Trailer(&trailer))
	if status.Code(err) != codes.ResourceExhausted || len(header) != 0 {
		t.Errorf("call through a full door = %v with header %v, want RESOURCE_EXHAUSTED and none", err, header)
	}
	if got := trailer.Get(pushbackKey); len(got) != 1 || got[0] != "1000" {
		t.Errorf("pushback = %v, want 1000", got)
	}
	place.Release()

	if err := door.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); status.Code(err) != codes.Unavailable {
		t.Errorf("call through a draining door = %v, want UNAVAILABLE", err)
	}
}
