package factory

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/fleet"
)

func TestAStopUnderLoadLosesNothing(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{
		Propagation: 500 * time.Millisecond, Drain: 10 * time.Second, Spread: time.Millisecond,
	})
	processor, _ := s.HTTP("processor")
	url, stop := running(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "/", nil)
		resp, err := processor.Do(req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		io.Copy(w, resp.Body)
	}))
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })

	// A balancer that looks every 50 ms, and needs one look to look away.
	var away atomic.Bool
	var calls, failed atomic.Int64
	var load sync.WaitGroup
	load.Go(func() {
		for !away.Load() {
			<-time.After(50 * time.Millisecond)
			if got, _ := status(t, url+"/readyz"); got != http.StatusOK {
				away.Store(true)
			}
		}
	})
	for range 4 {
		load.Go(func() {
			for !away.Load() {
				resp, err := http.Get(url + "/")
				calls.Add(1)
				if err != nil || resp.StatusCode != http.StatusOK {
					failed.Add(1)
				}
				if err == nil {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
				}
			}
		})
	}
	eventually(t, "under load", func() bool { return calls.Load() > 100 })
	if err := stop(); err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
	load.Wait()
	if failed.Load() != 0 {
		t.Errorf("%d of %d calls failed while the service stopped, want 0", failed.Load(), calls.Load())
	}
}

func TestAnEndlessRequestIsEndedAtTheEndOfDrain(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Propagation: time.Millisecond, Drain: 200 * time.Millisecond, Spread: time.Millisecond})
	ended := make(chan struct{})
	entered := make(chan struct{})
	url, stop := running(t, s, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		close(entered)
		<-r.Context().Done()
		close(ended)
	}))
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	go func() {
		if resp, err := http.Get(url + "/"); err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}()
	<-entered
	if err := stop(); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Serve() = %v, want it to say that Drain was not enough", err)
	}
	<-ended
}

// Balancers and browsers open connections before they have a request for them.
func TestAConnectionThatSendsNothingIsNoLoss(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Propagation: time.Millisecond, Drain: 200 * time.Millisecond, Spread: time.Millisecond})
	url, stop := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	status(t, url+"/") // accepted after it
	if err := stop(); err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
	if n, err := conn.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("Read() after the stop = %d, %v; want io.EOF", n, err)
	}
}

func TestShutdownStopsAsASignalDoes(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Propagation: time.Millisecond, Spread: time.Millisecond})
	entered, leave := make(chan struct{}), make(chan struct{})
	url, stop := running(t, s, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-leave
	}))
	<-s.Ready().Opened()
	answered := make(chan int, 1)
	go func() {
		got, _ := status(t, url+"/")
		answered <- got
	}()
	<-entered
	done := make(chan error, 1)
	go func() { done <- s.Shutdown(t.Context()) }()
	<-s.Ready().Drained()
	close(leave)
	if got := <-answered; got != http.StatusOK {
		t.Errorf("the request that ran = %d, want 200", got)
	}
	if err := errors.Join(<-done, stop(), s.Shutdown(t.Context())); err != nil {
		t.Errorf("Shutdown(), Serve(), Shutdown() = %v, want nil", err)
	}
}

func TestShutdownIsCutShortByItsContext(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Propagation: time.Hour, Drain: time.Hour, Spread: time.Millisecond})
	entered := make(chan struct{})
	url, stop := running(t, s, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
	}))
	<-s.Ready().Opened()
	go func() {
		if resp, err := http.Get(url + "/"); err == nil {
			resp.Body.Close()
		}
	}()
	<-entered
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("the machine is gone in a second")
	cancel(cause)
	if err := s.Shutdown(ctx); !errors.Is(err, cause) {
		t.Errorf("Shutdown() = %v, want %v", err, cause)
	}
	if err := stop(); !errors.Is(err, cause) {
		t.Errorf("Serve() = %v, want %v", err, cause)
	}
}

func TestShutdownClosesAServiceThatNeverServed(t *testing.T) {
	s, _ := open(t, write(t, one, "http://127.0.0.1:1"), Options{})
	if err := errors.Join(s.Shutdown(t.Context()), s.Shutdown(t.Context())); err != nil {
		t.Errorf("Shutdown() twice = %v, want nil", err)
	}
	if err := s.Serve(t.Context(), broken{}, nil); err == nil {
		t.Error("Serve() after Shutdown = nil, want an error")
	}
}

func TestABrokenListenerEndsTheService(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{})
	if err := s.Serve(t.Context(), broken{}, http.NotFoundHandler()); !errors.Is(err, errBroken) {
		t.Errorf("Serve(broken) = %v, want %v", err, errBroken)
	}
}

func TestAServiceServesOnce(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Propagation: time.Millisecond, Spread: time.Millisecond})
	url, stop := running(t, s, http.NotFoundHandler())
	eventually(t, "ready", func() bool { got, _ := status(t, url+"/readyz"); return got == http.StatusOK })
	if err := s.Serve(t.Context(), broken{}, http.NotFoundHandler()); err == nil || errors.Is(err, errBroken) {
		t.Errorf("Serve() while it serves = %v, want an error that says so", err)
	}
	if got, _ := status(t, url+"/readyz"); got != http.StatusOK {
		t.Errorf("GET /readyz after a second Serve = %d, want 200", got)
	}
	if err := stop(); err != nil {
		t.Errorf("the first Serve() = %v, want nil", err)
	}
	closed, _ := open(t, write(t, one, "http://127.0.0.1:1"), Options{})
	closed.Close()
	if err := closed.Serve(t.Context(), broken{}, http.NotFoundHandler()); !errors.Is(err, offtake.ErrClosed) {
		t.Errorf("Serve() of a closed service = %v, want %v", err, offtake.ErrClosed)
	}
}

// Whoever never runs a service, or opens one that can't be, has nothing to wait
// for but Close.
func TestNoGoroutineIsLeft(t *testing.T) {
	source, err := fleet.NewStatic(capacity.Plan{InFlight: 30}, 3)
	if err != nil {
		t.Fatal(err)
	}
	all := Options{
		Admin: "127.0.0.1:0", Watch: time.Millisecond, OpenDegraded: time.Millisecond, Propagation: time.Millisecond,
		Spread: time.Millisecond, Fleet: map[string]fleet.Source{"processor": source},
	}
	ready, _ := open(t, write(t, one, upstream(t).URL()), all)
	_, stop := running(t, ready, http.NotFoundHandler())
	<-ready.Ready().Opened()
	if err := stop(); err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
	degraded, _ := open(t, write(t, one, "http://127.0.0.1:1"), all)
	_, stop = running(t, degraded, http.NotFoundHandler())
	<-degraded.Ready().Opened()
	if err := stop(); err != nil {
		t.Errorf("Serve() of a degraded service = %v, want nil", err)
	}
	cold, _ := open(t, write(t, one, "http://"+silent(t)), Options{Propagation: time.Millisecond})
	_, stop = running(t, cold, http.NotFoundHandler())
	if err := stop(); err != nil {
		t.Errorf("Serve() of a service that never was warm = %v, want nil", err)
	}
	never, _ := open(t, write(t, one, "http://127.0.0.1:1"), all)
	never.Close()
	if _, err := Open(write(t, one, "no url"), &Options{Registerer: prometheus.NewRegistry()}); err == nil {
		t.Error("Open(no url) = nil, want an error")
	}

	var stacks string
	eventually(t, "without goroutines", func() bool {
		buffer := make([]byte, 1<<20)
		stacks = string(buffer[:runtime.Stack(buffer, true)])
		own, others, _ := strings.Cut(stacks, "\n\n")
		others = strings.ReplaceAll(others, "offtake-go/offtake/offtaketest", "the test's upstreams")
		return strings.Contains(own, t.Name()) && !strings.Contains(others, "offtake-go/offtake/")
	})
}
