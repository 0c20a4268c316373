package integration

import (
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/debug/registry"
	"github.com/offtake-go/offtake/httpclient"
)

// fault is one way for a connection to go wrong, made by a real TCP proxy, and the
// outcome that the metrics must have for it.
type fault struct {
	name, toxic string
	outcome     string
}

var faults = []fault{
	{"none", "", "2xx"},
	{"latency within the deadline", `{"type": "latency", "attributes": {"latency": 100}}`, "2xx"},
	{"latency beyond the attempt", `{"type": "latency", "attributes": {"latency": 30000}}`, "timeout"},
	{"a black hole", `{"type": "timeout", "attributes": {"timeout": 0}}`, "timeout"},
	{"a reset", `{"type": "reset_peer", "attributes": {"timeout": 0}}`, "reset"},
	{"a body that is cut off", `{"type": "limit_data", "attributes": {"bytes": 20000}}`, "body"},
	{"a body slower than the deadline", `{"type": "bandwidth", "attributes": {"rate": 2}}`, "timeout"},
	{"a body in small slices", `{"type": "slicer", "attributes": {"average_size": 512, "size_variation": 100, "delay": 10}}`, "2xx"},
	{"a slow close", `{"type": "slow_close", "attributes": {"delay": 2000}}`, "2xx"},
}

// TestEveryFaultHasItsOutcome calls an upstream through each fault.
func TestEveryFaultHasItsOutcome(t *testing.T) {
	body := bytes.Repeat([]byte("offtake "), 8<<10) // 64 KiB
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }))
	t.Cleanup(upstream.Close)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			wantOutcome(t, "http://"+through(t, upstream.Listener.Addr().String(), f.toxic), f.outcome)
		})
	}
}

// TestWhatCanNotBeConnectedHasItsOutcome needs no proxy: nothing is there.
func TestWhatCanNotBeConnectedHasItsOutcome(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	for _, c := range []struct{ name, url, outcome string }{
		{"nobody listens", "http://" + nobody, "connect"},
		{"no such name", "http://" + strings.Repeat("x", 64) + ".invalid", "dns"}, // too long a label to ask a server for
		{"no TLS on the other side", strings.Replace(plain.URL, "http:", "https:", 1), "tls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wantOutcome(t, c.url, c.outcome)
		})
	}
}

// TestFaultsOfGRPCHaveTheirOutcome has what grpc-go makes of the same: it says
// UNAVAILABLE of every connection that breaks.
func TestFaultsOfGRPCHaveTheirOutcome(t *testing.T) {
	server := grpc.NewServer()
	healthpb.RegisterHealthServer(server, health.NewServer())
	address := serveGRPC(t, server)
	secure := credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12})
	for _, c := range []struct {
		name, target, toxic string
		credentials         credentials.TransportCredentials
		outcome             string
	}{
		{"none", "", "", nil, "OK"},
		{"latency beyond the attempt", "", `{"type": "latency", "attributes": {"latency": 30000}}`, nil, "connect"}, // its first answer is late, too
		{"a black hole", "", `{"type": "timeout", "attributes": {"timeout": 0}}`, nil, "connect"},
		{"a reset", "", `{"type": "reset_peer", "attributes": {"timeout": 0}}`, nil, "connect"},
		{"an answer that is cut off", "", `{"type": "limit_data", "attributes": {"bytes": 60}}`, nil, "UNAVAILABLE"},
		{"nobody listens", nobody, "", nil, "connect"},
		{"no such name", strings.Repeat("x", 64) + ".invalid:443", "", nil, "dns"},
		{"no TLS on the other side", address, "", secure, "tls"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.target == "" {
				c.target = through(t, address, c.toxic)
			}
			if c.credentials == nil {
				c.credentials = insecure.NewCredentials()
			}
			caller := newGRPCCaller(t, c.target, c.credentials)
			err := caller.call(t.Context())
			if got := caller.all(); got[c.outcome] != 1 || len(got) != 1 {
				t.Errorf("the metrics have the outcomes %v of a call that ended with %v, want one %s", got, err, c.outcome)
			}
			t.Log(err)
		})
	}
}

// through is the address of a fault proxy in front of an upstream.
func through(t *testing.T, upstream, toxic string) string {
	t.Helper()
	proxy := newFaultProxy(t, upstream)
	if toxic != "" {
		if _, err := proxy.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
			t.Fatal(err)
		}
	}
	return proxy.Listen
}

func newFaultProxy(t *testing.T, upstream string) *toxiproxy.Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	proxy := toxiproxy.NewProxy(server, t.Name(), "127.0.0.1:0", upstream)
	if err := proxy.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Stop)
	return proxy
}

// wantOutcome makes one call, and asks the metrics, and the page that reads them,
// how it ended.
func wantOutcome(t *testing.T, url, outcome string) {
	t.Helper()
	metrics := prometheus.NewRegistry()
	client, err := httpclient.New(url, faultPlan, &httpclient.Options{Name: "upstream", Registerer: metrics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	if (err == nil) != (outcome == "2xx") {
		t.Errorf("the call ended with %v, and should have ended as %s", err, outcome)
	}
	u := registry.Source(metrics)().Upstreams[0]
	if u.Outcomes[outcome] != 1 || len(u.Outcomes) != 1 {
		t.Errorf("the metrics have the outcomes %v of a call that ended with %v, want one %s", u.Outcomes, err, outcome)
	}
	if u.InFlight != 0 {
		t.Errorf("%d calls are in flight after the end, want 0: the place is back", u.InFlight)
	}
}
