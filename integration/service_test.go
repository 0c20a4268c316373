package integration

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/internal/loopback"
)

// upstream is a server whose latency and answer a test can change.
type upstream struct {
	*httptest.Server
	latency atomic.Int64 // a time.Duration
	status  atomic.Int64
}

func newUpstream(t *testing.T, latency time.Duration) *upstream {
	t.Helper()
	u := new(upstream)
	u.latency.Store(int64(latency))
	u.status.Store(http.StatusOK)
	u.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(time.Duration(u.latency.Load())):
		}
		w.WriteHeader(int(u.status.Load()))
		fmt.Fprintln(w, "answered")
	}))
	t.Cleanup(u.Close)
	return u
}

// contractFile is small on purpose: at 20 calls/s of 50 ms the processor has two or
// three places.
const contractFile = `
service: checkout
replicas: {min: 1, max: 1}
callers:
  web: {rate: 20/s, deadline: 3s}
door: {inFlight: 6, queue: 4, wait: 100ms, deadline: 2s}
upstreams:
  card-processor: {target: %q, rate: 20/s, latency: 50ms, limit: 4, deadline: 1s}
  ledger: {target: %q, rate: 20/s, latency: 5ms, deadline: 500ms}
`

// startService runs a service of the factory, until the test ends: orders come at
// the address that is returned, and probes, metrics and the debug page are there
// too.
func startService(t *testing.T, processor, ledger string) (url string) {
	t.Helper()
	return serveContract(t, fmt.Sprintf(contractFile, processor, ledger), orders)
}

// startExample runs examples/service on the same contract, which has its upstream over
// gRPC, too.
func startExample(t *testing.T, processor, ledger string) (url, admin string) {
	t.Helper()
	dir := t.TempDir()
	program, contract, address := filepath.Join(dir, "service"), filepath.Join(dir, "offtake.yaml"), loopback.Free(t)
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../examples/service").CombinedOutput(); err != nil {
		t.Fatalf("go build ../examples/service: %v\n%s", err, out)
	}
	fraud := grpc.NewServer()
	healthpb.RegisterHealthServer(fraud, health.NewServer())
	writeFile(t, contract, fmt.Sprintf(contractFile+"  fraud-check: {target: %q, protocol: grpc, rate: 20/s, latency: 5ms, streams: 100}\n",
		processor, ledger, serveGRPC(t, fraud)))
	probes := loopback.Free(t)
	start(t, program, "-contract", contract, "-address", address, "-admin", probes, "-grace", "5s")
	eventually(t, 40*time.Second, "the example is ready", func() (any, bool) {
		status := get(t.Context(), http.DefaultClient, "http://"+probes+"/readyz")
		return status, status == http.StatusOK
	})
	return "http://" + address, "http://" + probes
}

// serveContract runs a service of a contract, with an application on top.
func serveContract(t *testing.T, file string, app func(*factory.Service) http.Handler) (url string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "offtake.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	service, err := factory.Open(path, &factory.Options{
		Registerer:  prometheus.NewRegistry(),
		Spread:      time.Millisecond,
		Propagation: time.Millisecond,
		Debug:       factory.NoDebug,
		Logger:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served, handler, admin := make(chan error, 1), app(service), service.AdminHandler()
	go func() { served <- service.Serve(ctx, l, handler) }()
	// One address for all is what the tests ask; a service has several.
	all := http.NewServeMux()
	all.Handle("/metrics", admin)
	all.Handle("/debug/offtake", admin)
	all.Handle("/", service.Handler(handler))
	front := httptest.NewServer(all)
	t.Cleanup(func() {
		cancel()
		front.CloseClientConnections()
		front.Close()
		if err := <-served; err != nil {
			t.Logf("the service stopped with %v", err)
		}
	})
	return front.URL
}

// orders calls one upstream after the other.
func orders(service *factory.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{"card-processor", "ledger"} {
			if err := call(r.Context(), service, name); err != nil {
				admission.WriteError(w, err)
				return
			}
		}
	})
}

// call calls an upstream, and reads what it says.
func call(ctx context.Context, service *factory.Service, upstream string) error {
	client, err := service.HTTP(upstream)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

// load makes calls at a rate, whether or not they are answered, and counts what
// they return. It ends with ctx, or after a time, when all have been answered. What a
// busy machine keeps it from making in time it makes later: a lower rate would be
// another experiment.
func load[T comparable](ctx context.Context, rate float64, d time.Duration, call func(context.Context) T) map[T]int {
	var (
		mu      sync.Mutex
		answers = make(map[T]int)
		running sync.WaitGroup
	)
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	began, end := time.Now(), time.After(d)
	for made := 0; ; {
		select {
		case <-ctx.Done():
			running.Wait()
			return answers
		case <-end:
			running.Wait()
			return answers
		case <-tick.C:
			for ; float64(made) < rate*time.Since(began).Seconds(); made++ {
				running.Go(func() {
					answer := call(context.WithoutCancel(ctx))
					mu.Lock()
					answers[answer]++
					mu.Unlock()
				})
			}
		}
	}
}

// getter is a call to an address, with a pool for many at once. It returns the
// status, and 0 for no answer.
func getter(t *testing.T, url string) func(context.Context) int {
	t.Helper()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Second}}
	t.Cleanup(client.CloseIdleConnections)
	return func(ctx context.Context) int { return get(ctx, client, url) }
}

func get(ctx context.Context, client *http.Client, url string) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0
	}
	return resp.StatusCode
}

// underLoad sends requests until the test ends.
func underLoad(t *testing.T, url string, rate float64) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan map[int]int, 1)
	call := getter(t, url)
	go func() { done <- load(ctx, rate, 2*time.Minute, call) }()
	t.Cleanup(func() {
		cancel()
		t.Logf("the load was answered: %v", <-done)
	})
}
