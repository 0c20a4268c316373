package factory

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestAStopUnderLoadLosesNothing(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL), Options{
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
	s, _ := open(t, write(t, one, upstream(t).URL), Options{Propagation: time.Millisecond, Drain: 200 * time.Millisecond, Spread: time.Millisecond})
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

func TestABrokenListenerEndsTheService(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL), Options{})
	if err := s.Serve(t.Context(), broken{}, http.NotFoundHandler()); !errors.Is(err, errBroken) {
		t.Errorf("Serve(broken) = %v, want %v", err, errBroken)
	}
}
