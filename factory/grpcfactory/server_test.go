package grpcfactory_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/factory/grpcfactory"
)

const alone = `
service: fraud
replicas: {min: 1}
door: {inFlight: 1, queue: none}
`

// work is a service whose calls last until they are told to end.
type work struct {
	testpb.UnimplementedTestServiceServer
	entered chan struct{}
	leave   chan struct{}
}

func (w *work) EmptyCall(ctx context.Context, _ *testpb.Empty) (*testpb.Empty, error) {
	select {
	case w.entered <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case <-w.leave:
		return &testpb.Empty{}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func newWork() *work { return &work{entered: make(chan struct{}), leave: make(chan struct{})} }

func newServer(t *testing.T, s *factory.Service, w *work) *grpcfactory.Server {
	t.Helper()
	server, err := grpcfactory.NewServer(s, &grpcfactory.ServerOptions{Services: []string{"shop.Fraud"}})
	if err != nil {
		t.Fatal(err)
	}
	testpb.RegisterTestServiceServer(server, w)
	return server
}

func dial(t *testing.T, address string, c credentials.TransportCredentials) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestAServerAloneHasDoorReadinessAndAStopThatLosesNothing(t *testing.T) {
	s, w, l := open(t, alone, factory.Options{Drain: 10 * time.Second}), newWork(), listen(t)
	stop := serve(t, s, factory.Listener{Net: l, Server: newServer(t, s, w)})
	conn := dial(t, l.Addr().String(), insecure.NewCredentials())
	health := grpc_health_v1.NewHealthClient(conn)
	for _, name := range []string{"", "shop.Fraud", "liveness"} {
		got, err := health.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Errorf("Check(%q) = %v, %v, want SERVING", name, got, err)
		}
	}
	watch, err := health.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}

	client, ran := testpb.NewTestServiceClient(conn), make(chan error, 1)
	go func() {
		_, err := client.EmptyCall(context.WithoutCancel(t.Context()), &testpb.Empty{})
		ran <- err
	}()
	<-w.entered
	if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a call while the one place is held = %v, want RESOURCE_EXHAUSTED", err)
	}

	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	if got, err := watch.Recv(); err != nil || got.GetStatus() != grpc_health_v1.HealthCheckResponse_NOT_SERVING {
		t.Errorf("Recv() while it stops = %v, %v, want NOT_SERVING", got, err)
	}
	close(w.leave)
	if err := <-ran; err != nil {
		t.Errorf("the call that ran = %v, want nil", err)
	}
	if err := <-stopped; err != nil {
		t.Errorf("ServeOn() = %v, want nil", err)
	}
}

func app() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		io.WriteString(w, r.Proto+" "+string(b))
		if r.TLS != nil {
			io.WriteString(w, " secure")
		}
	})
}

// ask is one request over HTTP.
func ask(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	resp, err := c.Post(url, "text/plain", strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestHTTPAndGRPCStandBesideEachOther(t *testing.T) {
	s, w, l, h := open(t, alone, factory.Options{}), newWork(), listen(t), listen(t)
	stop := serve(t, s, factory.Listener{Net: l, Server: newServer(t, s, w)}, factory.Listener{Net: h, Handler: app()})
	if got := ask(t, http.DefaultClient, "http://"+h.Addr().String()); got != "HTTP/1.1 hello" {
		t.Errorf("POST / = %q, want the handler's answer", got)
	}
	ran := make(chan error, 1)
	go func() {
		_, err := testpb.NewTestServiceClient(dial(t, l.Addr().String(), insecure.NewCredentials())).EmptyCall(t.Context(), &testpb.Empty{})
		ran <- err
	}()
	<-w.entered
	resp, err := http.Get("http://" + h.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("GET / while a call over gRPC holds the one place = %d, want 429: they share the door", resp.StatusCode)
	}
	close(w.leave)
	if err := <-ran; err != nil {
		t.Errorf("EmptyCall() = %v, want nil", err)
	}
	if err := stop(); err != nil {
		t.Errorf("ServeOn() = %v, want nil", err)
	}
}

func TestOnePortServesBoth(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	trusting := &tls.Config{RootCAs: pool, ServerName: "example.com"}
	for name, tt := range map[string]struct {
		config *tls.Config
		creds  credentials.TransportCredentials
		client *http.Client
		scheme string
		want   string
	}{
		"in plaintext": {nil, insecure.NewCredentials(), &http.Client{Transport: &http.Transport{}}, "http", "HTTP/1.1 hello"},
		"over TLS": {
			&tls.Config{Certificates: server.TLS.Certificates}, credentials.NewTLS(trusting),
			&http.Client{Transport: &http.Transport{TLSClientConfig: trusting}}, "https", "HTTP/1.1 hello secure",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, w, l := open(t, alone, factory.Options{}), newWork(), listen(t)
			close(w.leave)
			go func() {
				for range 2 {
					<-w.entered
				}
			}()
			stop := serve(t, s, factory.Listener{Net: l, Server: newServer(t, s, w), Handler: app(), TLS: tt.config})
			client := testpb.NewTestServiceClient(dial(t, l.Addr().String(), tt.creds))
			for range 2 {
				if _, err := client.EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
					t.Errorf("EmptyCall() = %v, want nil", err)
				}
				if got := ask(t, tt.client, tt.scheme+"://"+l.Addr().String()); got != tt.want {
					t.Errorf("POST / = %q, want %q", got, tt.want)
				}
			}
			silent, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer silent.Close()
			if err := stop(); err != nil {
				t.Errorf("ServeOn() with a silent connection = %v, want nil", err)
			}
			if _, err := silent.Read(make([]byte, 1)); err == nil {
				t.Error("the silent connection is open after the stop, want it closed")
			}
			tt.client.CloseIdleConnections()
		})
	}
}

func TestAServerOverTLSAlone(t *testing.T) {
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	defer server.Close()
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	s, w, l := open(t, alone, factory.Options{}), newWork(), listen(t)
	close(w.leave)
	go func() { <-w.entered }()
	stop := serve(t, s, factory.Listener{Net: l, Server: newServer(t, s, w), TLS: &tls.Config{Certificates: server.TLS.Certificates}})
	conn := dial(t, l.Addr().String(), credentials.NewTLS(&tls.Config{RootCAs: pool, ServerName: "example.com"}))
	if _, err := testpb.NewTestServiceClient(conn).EmptyCall(t.Context(), &testpb.Empty{}); err != nil {
		t.Errorf("EmptyCall() = %v, want nil", err)
	}
	if err := stop(); err != nil {
		t.Errorf("ServeOn() = %v, want nil", err)
	}
}

func TestNewServerNamesEveryMistakeAtOnce(t *testing.T) {
	_, err := grpcfactory.NewServer(open(t, alone, factory.Options{}), &grpcfactory.ServerOptions{Exempt: []string{"Check"}, Services: []string{"liveness"}})
	for _, part := range []string{`"Check"`, `"liveness"`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("NewServer() = %v, want it to name %s", err, part)
		}
	}
}
