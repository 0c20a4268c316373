package admission

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/incoming"
)

func TestAFullDoorAnswers429WithRetryAfter(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			d := newDoor(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Options{})
			url, client := serve(t, protocol, d.Handler(http.NotFoundHandler()))
			place := take(t, d)
			resp, err := client.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" || resp.Close {
				t.Errorf("full door: %d, Retry-After %q, close %v, want 429, 1, false", resp.StatusCode, resp.Header.Get("Retry-After"), resp.Close)
			}
			if got, want := resp.Header.Get("Content-Type"), "application/problem+json"; got != want || string(body) != problemOf(429) {
				t.Errorf("full door: %s %q, want %s %q", got, body, want, problemOf(429))
			}
			place.Release()
			if resp, err := do(t.Context(), client, "GET", url, nil); err != nil || resp.StatusCode != 404 {
				t.Errorf("free door: %v, %v, want the handler's 404", resp, err)
			}
		})
	}
}

func TestADrainingDoorAnswers503AndCloses(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			d := newDoor(t, capacity.Plan{InFlight: 1}, Options{})
			url, client := serve(t, protocol, d.Handler(http.NotFoundHandler()))
			if err := d.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			resp, err := do(t.Context(), client, "GET", url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != 503 || resp.Header.Get("Retry-After") != "1" {
				t.Errorf("draining: %d, Retry-After %q, want 503, 1", resp.StatusCode, resp.Header.Get("Retry-After"))
			}
			if protocol == "HTTP/1.1" && !resp.Close {
				t.Error("draining: the connection stays open, want Connection: close")
			}
		})
	}
}

func TestThePlaceIsBackAfterPanicsAndEarlyReturns(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"panic":             func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"panic after bytes": func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "x"); panic(http.ErrAbortHandler) },
		"return":            func(http.ResponseWriter, *http.Request) {},
		"hijack": func(w http.ResponseWriter, _ *http.Request) {
			if h, ok := w.(http.Hijacker); ok {
				conn, _, _ := h.Hijack()
				conn.Close()
			}
		},
	}
	for _, protocol := range protocols {
		for name, h := range handlers {
			t.Run(protocol+"/"+name, func(t *testing.T) {
				d := newDoor(t, capacity.Plan{InFlight: 2}, Options{})
				url, client := serve(t, protocol, d.Handler(h))
				for range 100 {
					do(t.Context(), client, "GET", url, nil) // most of these handlers break the answer
				}
				if err := d.Shutdown(t.Context()); err != nil {
					t.Fatal(err)
				}
				if s := d.Stats(); s.InFlight != 0 || s.Entered < 100 || s.Refused["queue_full"] != 0 {
					t.Errorf("Stats() = %+v, want 0 in flight of 100 entered", s)
				}
			})
		}
	}
}

func TestThePlaceIsHeldUntilTheHandlerReturns(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			d := newDoor(t, capacity.Plan{InFlight: 1}, Options{})
			gone, finish := make(chan struct{}), make(chan struct{})
			url, client := serve(t, protocol, d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				<-r.Context().Done()
				close(gone)
				<-finish
			})))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for d.Stats().InFlight == 0 {
					<-time.After(time.Millisecond)
				}
				cancel()
			}()
			if _, err := do(ctx, client, "GET", url, nil); err == nil {
				t.Error("the canceled request succeeded")
			}
			<-gone
			wantInFlight(t, d, 1)
			close(finish)
			if err := d.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestNothingIsWrittenToAClientThatLeftTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second}, Options{})
		place := take(t, d)
		h := d.Handler(http.NotFoundHandler())
		var written, aborted bool
		ctx, leave := context.WithCancel(t.Context())
		dial := servePipe(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer func() {
				aborted = recover() == http.ErrAbortHandler
				panic(http.ErrAbortHandler)
			}()
			left, cancel := context.WithCancel(r.Context())
			context.AfterFunc(ctx, cancel) // net/http's own cancels when the pipe closes, and then no byte could be read
			h.ServeHTTP(spy{w, &written}, r.WithContext(left))
		}))
		conn := dial()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		synctest.Wait()
		if got := d.Stats().Queued; got != 1 {
			t.Fatalf("Queued = %d, want 1", got)
		}
		leave()
		answer, _ := io.ReadAll(conn)
		if len(answer) != 0 || written || !aborted {
			t.Errorf("answer to a client that left = %q (written %v, aborted %v), want none", answer, written, aborted)
		}
		place.Release()
		wantInFlight(t, d, 0)
	})
}

// spy notes any use of a writer.
type spy struct {
	http.ResponseWriter
	written *bool
}

func (s spy) WriteHeader(status int) {
	*s.written = true
	s.ResponseWriter.WriteHeader(status)
}

func (s spy) Write(p []byte) (int, error) {
	*s.written = true
	return s.ResponseWriter.Write(p)
}

func TestAClientThatClosesItsConnectionLeavesTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Minute, Attempt: 2 * time.Minute, Deadline: 5 * time.Minute}, Options{})
		defer take(t, d).Release()
		conn := servePipe(t, d.Handler(http.NotFoundHandler()))()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		synctest.Wait()
		conn.Close()
		synctest.Wait()
		if s := d.Stats(); s.Queued != 0 || s.Waited != 1 {
			t.Errorf("Queued, Waited = %d, %d, want 0, 1", s.Queued, s.Waited)
		}
	})
}

func TestAnUploadKeepsItsTurnUntilItsWaitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second}, Options{})
		defer take(t, d).Release()
		conn := servePipe(t, d.Handler(http.NotFoundHandler()))()
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
		synctest.Wait()
		conn.Close()
		synctest.Wait()
		if s := d.Stats(); s.Queued != 1 {
			t.Errorf("Queued with an unread body = %d, want 1", s.Queued)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if s := d.Stats(); s.Queued != 0 || s.Refused["wait"] != 1 {
			t.Errorf("Queued, refused for the wait = %d, %d, want 0, 1", s.Queued, s.Refused["wait"])
		}
	})
}

func TestARequestWaitsInTheQueueAndIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second}, Options{})
		time.AfterFunc(300*time.Millisecond, take(t, d).Release)
		conn := servePipe(t, d.Handler(http.NotFoundHandler()))()
		start := time.Now()
		io.WriteString(conn, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := time.Since(start), 300*time.Millisecond; resp.StatusCode != 404 || got != want {
			t.Errorf("queued request: %d after %v, want 404 after %v", resp.StatusCode, got, want)
		}
	})
}

func TestTheCallersTimeAndAttemptReachTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1}, Options{})
		for _, c := range []struct {
			timeout, attempt string
			left             time.Duration // 0 is no deadline
			number           int
		}{
			{"", "", 0, 1},
			{"250", "3", 250 * time.Millisecond, 3},
			{"250", "", 250 * time.Millisecond, 1},
			{"", "2", 0, 2},
			{"0", "0", 0, 1},
			{"-5", "-1", 0, 1},
			{"99999999999", "1000000", 0, 1},
			{"soon", "two", 0, 1},
		} {
			r := httptest.NewRequest("GET", "/", nil)
			if c.timeout != "" {
				r.Header.Set(incoming.TimeoutHeader, c.timeout)
			}
			if c.attempt != "" {
				r.Header.Set(incoming.AttemptHeader, c.attempt)
			}
			d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				deadline, ok := r.Context().Deadline()
				if left := time.Until(deadline); ok != (c.left != 0) || ok && left != c.left {
					t.Errorf("timeout %q: deadline %v, %v, want %v", c.timeout, ok, left, c.left)
				}
				if got := incoming.Attempt(r.Context()); got != c.number {
					t.Errorf("attempt %q: Attempt() = %d, want %d", c.attempt, got, c.number)
				}
			})).ServeHTTP(httptest.NewRecorder(), r)
		}
	})
}

func TestTimeThatEndsInTheQueueIs504(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second}, Options{})
		defer take(t, d).Release()
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set(incoming.TimeoutHeader, "80")
		w := httptest.NewRecorder()
		start := time.Now()
		d.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
		if got, want := time.Since(start), 80*time.Millisecond; w.Code != 504 || got != want {
			t.Errorf("80 ms left: %d after %v, want 504 after %v", w.Code, got, want)
		}
	})
}

func TestAnOverloadedDoorEjectsNobody(t *testing.T) {
	for _, protocol := range protocols {
		t.Run(protocol, func(t *testing.T) {
			d := newDoor(t, capacity.Plan{InFlight: 4, Queue: 4, Wait: time.Millisecond}, Options{})
			url, client := serve(t, protocol, d.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				io.Copy(io.Discard, r.Body)
				<-time.After(2 * time.Millisecond)
			})))
			var ok, busy, broken atomic.Int64
			var wg sync.WaitGroup
			for range 64 {
				wg.Go(func() {
					for range 20 {
						resp, err := client.Post(url, "text/plain", strings.NewReader(strings.Repeat("x", 10_000)))
						switch {
						case err != nil || resp.StatusCode >= 500:
							broken.Add(1)
							t.Log(err)
						case resp.StatusCode == 429:
							busy.Add(1)
						default:
							ok.Add(1)
						}
						if err == nil {
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					}
				})
			}
			wg.Wait()
			if broken.Load() != 0 || ok.Load() == 0 || busy.Load() == 0 {
				t.Errorf("64 callers on 4 places: %d ok, %d busy, %d resets or 5xx, want some, some, 0", ok.Load(), busy.Load(), broken.Load())
			}
		})
	}
}

func FuzzWhatARequestSaysIsBounded(f *testing.F) {
	f.Add("250", "2")
	f.Add("99999999999999999999", "-1")
	f.Add("", "0")
	f.Fuzz(func(t *testing.T, timeout, attempt string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header[incoming.TimeoutHeader] = []string{timeout}
		r.Header[incoming.AttemptHeader] = []string{attempt}
		now := time.Now()
		ctx, cancel := told(r, now)
		if cancel != nil {
			defer cancel()
		}
		if deadline, ok := ctx.Deadline(); ok && (deadline.Before(now) || deadline.Sub(now) > time.Hour) {
			t.Errorf("told(%q) has %v left, want at most an hour", timeout, deadline.Sub(now))
		}
		if n := incoming.Attempt(ctx); n < 1 || n > 100 {
			t.Errorf("told(%q) is attempt %d, want one in [1, 100]", attempt, n)
		}
	})
}

func TestAGRPCRequestIsRefusedInItsOwnWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDoor(t, capacity.Plan{InFlight: 1, Wait: time.Second}, Options{})
		place := take(t, d)
		for _, c := range []struct {
			step             func()
			timeout          string
			status, pushback string
		}{
			{func() {}, "", "8", "1000"},
			{func() {}, "80", "4", ""},
			{func() { place.Release(); d.Shutdown(t.Context()) }, "", "14", ""},
		} {
			c.step()
			r := httptest.NewRequest("POST", "/pkg.Service/Method", nil)
			r.Header.Set("Content-Type", "application/grpc+proto")
			if c.timeout != "" {
				r.Header.Set(incoming.TimeoutHeader, c.timeout)
			}
			w := httptest.NewRecorder()
			d.Handler(http.NotFoundHandler()).ServeHTTP(w, r)
			h := w.Header()
			if w.Code != 200 || w.Body.Len() != 0 || h.Get("Content-Type") != "application/grpc+proto" ||
				h.Get("Grpc-Status") != c.status || h.Get("Grpc-Retry-Pushback-Ms") != c.pushback || h.Get("Retry-After") != "" {
				t.Errorf("gRPC request: %d with %v, want 200 with status %s, pushback %q and no body", w.Code, h, c.status, c.pushback)
			}
		}
	})
}
