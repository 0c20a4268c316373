package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/internal/loopback"
)

// TestTheServiceLosesNothing is the whole life of the service: a cold start before
// its upstreams are there, twice the load it can carry, and a stop under load.
func TestTheServiceLosesNothing(t *testing.T) {
	addresses := []string{loopback.Free(t), loopback.Free(t), loopback.Free(t)}
	path := contractFor(t, addresses)
	service, err := factory.Open(path, &factory.Options{
		Protocols:   plaintext,
		Registerer:  prometheus.NewRegistry(),
		Spread:      time.Millisecond,
		Propagation: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	app, err := newCheckout(service)
	if err != nil {
		t.Fatal(err)
	}
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- service.Serve(ctx, l, app) }()
	defer cancel()
	url := "http://" + l.Addr().String()

	coldStart(t, service, url, addresses)
	overload(t, url)
	stopUnderLoad(t, url, cancel, served)
}

// coldStart has the upstreams come up after the service.
func coldStart(t *testing.T, service *factory.Service, url string, addresses []string) {
	t.Helper()
	eventually(t, "failing to warm", func() bool {
		for _, check := range service.Ready().Stats().Checks {
			if check.Err == nil {
				return false
			}
		}
		return true
	})
	if got := status(t, url+"/readyz"); got != http.StatusServiceUnavailable {
		t.Errorf("GET /readyz without upstreams = %d, want 503", got)
	}
	if got := status(t, url+"/checkout"); got != http.StatusTooManyRequests {
		t.Errorf("an order to a cold service = %d, want 429", got)
	}
	stop, err := startUpstreams(addresses[0], addresses[1], addresses[2])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	eventually(t, "ready", func() bool { return status(t, url+"/readyz") == http.StatusOK })
	processor, err := service.HTTP("card-processor")
	if err != nil {
		t.Fatal(err)
	}
	if s := processor.Stats(); s.Open < s.Plan.Warm {
		t.Errorf("connections to card-processor of a ready service = %d, want %d", s.Open, s.Plan.Warm)
	}
}

// overload offers twice as many orders at once as the door and its queue hold.
func overload(t *testing.T, url string) {
	t.Helper()
	statuses := make([]atomic.Int64, 600)
	var orders sync.WaitGroup
	until := time.After(2 * time.Second)
	for more := true; more; {
		select {
		case <-until:
			more = false
		case <-time.After(10 * time.Millisecond):
			for range 5 { // 500 a second; 8 places of about 30 ms carry 250
				orders.Go(func() { statuses[status(t, url+"/checkout")].Add(1) })
			}
		}
	}
	orders.Wait()
	for code := range statuses {
		n := statuses[code].Load()
		if n > 0 && code != http.StatusOK && code != http.StatusTooManyRequests {
			t.Errorf("%d orders = %d at twice the load, want only 200 and 429", n, code)
		}
	}
	if statuses[http.StatusOK].Load() == 0 || statuses[http.StatusTooManyRequests].Load() == 0 {
		t.Errorf("200, 429 = %d, %d at twice the load, want both", statuses[http.StatusOK].Load(), statuses[http.StatusTooManyRequests].Load())
	}
}

// stopUnderLoad stops the service while orders come, from callers that look at
// readiness as a balancer does.
func stopUnderLoad(t *testing.T, url string, stop func(), served <-chan error) {
	t.Helper()
	var away atomic.Bool
	var orders, failed atomic.Int64
	var callers sync.WaitGroup
	callers.Go(func() {
		for !away.Load() {
			<-time.After(50 * time.Millisecond)
			away.Store(status(t, url+"/readyz") != http.StatusOK)
		}
	})
	for range 4 {
		callers.Go(func() {
			for !away.Load() {
				orders.Add(1)
				if status(t, url+"/checkout") != http.StatusOK {
					failed.Add(1)
				}
			}
		})
	}
	eventually(t, "under load", func() bool { return orders.Load() > 50 })
	stop()
	callers.Wait()
	if err := <-served; err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
	if failed.Load() != 0 {
		t.Errorf("%d of %d orders failed while the service stopped, want 0", failed.Load(), orders.Load())
	}
}

// contractFor is offtake.yaml with other addresses, and a quarter of its places: a
// test that needs all of the machine to overload the service would show how busy
// that is.
func contractFor(t *testing.T, addresses []string) string {
	t.Helper()
	text, err := os.ReadFile("offtake.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i, address := range addresses {
		text = []byte(strings.ReplaceAll(string(text), fmt.Sprintf("127.0.0.1:900%d", i+1), address))
	}
	const door = "inFlight: 32, queue: 16"
	if !strings.Contains(string(text), door) {
		t.Fatalf("offtake.yaml has no door of %s", door)
	}
	text = []byte(strings.Replace(string(text), door, "inFlight: 8, queue: 4", 1))
	path := filepath.Join(t.TempDir(), "offtake.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// status is that of one request; 0 if there was no answer.
func status(t *testing.T, url string) int {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Errorf("GET %s: %v", url, err)
		return 0
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("still not %s after 20s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
