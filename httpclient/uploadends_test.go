package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// source is a request's body that counts what is done with it.
type source struct {
	io.Reader
	closes, reads atomic.Int32
	late          atomic.Int32 // reads that began when over was set
	over          atomic.Bool
}

func (s *source) Read(p []byte) (int, error) {
	s.reads.Add(1)
	if s.over.Load() {
		s.late.Add(1)
	}
	return s.Reader.Read(p)
}

func (s *source) Close() error {
	s.closes.Add(1)
	return nil
}

// paced gives size bytes, a piece each so often.
type paced struct {
	size, piece int
	every       time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	if p.size == 0 {
		return 0, io.EOF
	}
	<-time.After(p.every)
	n := min(len(b), p.piece, p.size)
	p.size -= n
	return n, nil
}

// stuck is a Read that does not return until somebody says so.
type stuck chan struct{}

func (s stuck) Read([]byte) (int, error) { <-s; return 0, io.EOF }

func postIn(t *testing.T, ctx context.Context, c *Client, body io.Reader) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", body)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

var bounded = capacity.Plan{
	InFlight: 1, Attempts: capacity.NoRetry, Attempt: 300 * time.Millisecond, BodyIdle: 200 * time.Millisecond, Deadline: 2 * time.Second,
}

func swallow(w http.ResponseWriter, r *http.Request) {
	io.Copy(io.Discard, r.Body)
	io.WriteString(w, "ok")
}

func TestARequestBodyThatBlocksHoldsNeitherItsCallNorItsPlace(t *testing.T) {
	for name, tc := range map[string]struct {
		ctx   time.Duration // of the caller, 0 for none
		end   time.Duration
		phase Phase
	}{
		"out of time":     {0, 200 * time.Millisecond, PhaseBodyIdle},
		"the caller left": {50 * time.Millisecond, 50 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, bounded, nil, swallow, func(t *testing.T, c *Client) {
				release := make(stuck)
				body := &source{Reader: io.MultiReader(strings.NewReader("first bytes"), release)}
				ctx, cancel := context.WithCancel(t.Context())
				if tc.ctx > 0 {
					time.AfterFunc(tc.ctx, cancel)
				}
				defer cancel()
				start := time.Now()
				_, err := postIn(t, ctx, c, body)
				body.over.Store(true)
				if took := time.Since(start); took != tc.end {
					t.Errorf("Do() took %v, want %v", took, tc.end)
				}
				timeout, ok := errors.AsType[*TimeoutError](err)
				if ok != (tc.phase != "") || ok && (timeout.Phase != tc.phase || !timeout.Unsent) {
					t.Errorf("Do() = %v, want phase %q with the caller's body to blame", err, tc.phase)
				}
				wantIdle(t, c)
				if got := c.Stats().Stuck; got == 0 {
					t.Error("stuck = 0, want the Read that is stuck to be seen")
				}
				if got := c.Failures(); len(got) != 0 {
					t.Errorf("Failures() = %v, want none", got)
				}
				close(release)
				synctest.Wait()
				if s := c.Stats(); s.Stuck != 0 || s.Open != 0 {
					t.Errorf("stuck, open = %d, %d, want 0, 0", s.Stuck, s.Open)
				}
				if late, closes := body.late.Load(), body.closes.Load(); late != 0 || closes != 1 {
					t.Errorf("reads after the call, closes = %d, %d, want 0, 1", late, closes)
				}
			})
		})
	}
}

func TestARequestBodyThatBlocksHoldsNoStreamEither(t *testing.T) {
	plan := bounded
	plan.Streams = 2
	c, _ := streamed(t, plan, nil, nil, swallow)
	release := make(stuck)
	for range 4 {
		body := &source{Reader: io.MultiReader(strings.NewReader("first bytes"), release)}
		_, err := postIn(t, t.Context(), c, body)
		if timeout, ok := errors.AsType[*TimeoutError](err); !ok || timeout.Phase != PhaseBodyIdle || !timeout.Unsent {
			t.Errorf("Do() = %v, want a TimeoutError of the caller's body", err)
		}
		wantIdle(t, c)
	}
	close(release)
	eventually(t, "the end of every Read", func() bool { return c.Stats().Stuck == 0 })
}

func TestASteadyUploadOutlivesItsAttemptAndAStalledOneItsIdleTime(t *testing.T) {
	for name, stream := range map[string]bool{"call": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, bounded, nil, swallow, func(t *testing.T, c *Client) {
				ctx := t.Context()
				if stream {
					ctx = Stream(ctx)
				}
				resp, err := postIn(t, ctx, c, &paced{size: 10 << 10, piece: 1 << 10, every: 150 * time.Millisecond})
				if err != nil {
					t.Fatalf("Do() of 1.5 s that never stands still = %v, want a response", err)
				}
				read(t, resp)
				wantIdle(t, c)
			})
		})
	}
	t.Run("an upstream that reads no more", func(t *testing.T) {
		var leave chan struct{}
		bubble(t, bounded, nil, func(w http.ResponseWriter, r *http.Request) {
			io.CopyN(io.Discard, r.Body, 10<<10)
			<-leave
		}, func(t *testing.T, c *Client) {
			leave = make(chan struct{})
			defer close(leave)
			start := time.Now()
			_, err := postIn(t, t.Context(), c, bytes.NewReader(make([]byte, 1<<20)))
			if timeout, ok := errors.AsType[*TimeoutError](err); !ok || timeout.Phase != PhaseBodyIdle || timeout.Unsent {
				t.Errorf("Do() = %v, want a TimeoutError of the upload", err)
			}
			if took := time.Since(start); took != bounded.BodyIdle {
				t.Errorf("Do() took %v, want %v", took, bounded.BodyIdle)
			}
			wantIdle(t, c)
			wantCount(t, c, "request_duration_seconds", "timeout", 1)
		})
	})
	t.Run("the deadline bounds it all", func(t *testing.T) {
		bubble(t, bounded, nil, swallow, func(t *testing.T, c *Client) {
			start := time.Now()
			_, err := postIn(t, t.Context(), c, &paced{size: 1 << 20, piece: 1 << 10, every: 150 * time.Millisecond})
			if timeout, ok := errors.AsType[*TimeoutError](err); !ok || timeout.Phase != PhaseDeadline {
				t.Errorf("Do() = %v, want a TimeoutError of the deadline", err)
			}
			if took := time.Since(start); took != bounded.Deadline {
				t.Errorf("Do() took %v, want %v", took, bounded.Deadline)
			}
		})
	})
}

func TestAFaultyRequestBodyIsTheCallersAndNotTheUpstreams(t *testing.T) {
	broken := errors.New("the client has hung up")
	for name, tc := range map[string]struct {
		body   io.Reader
		length int64
		is     error
	}{
		"fails":     {io.MultiReader(strings.NewReader("first"), failing{broken}), 0, broken},
		"too large": {http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("first and last")), 5), 0, nil},
		"too short": {strings.NewReader("first"), 50, nil},
	} {
		t.Run(name, func(t *testing.T) {
			overTLS(t, func(t *testing.T, h2 bool) {
				if h2 && tc.length > 0 {
					return // net/http leaves it to the upstream to say so
				}
				server, _ := handshakes(t, h2)
				c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Protocols: protocol(h2), Base: &http.Transport{TLSClientConfig: rootsOf(server)}})
				body := &source{Reader: tc.body}
				req, _ := http.NewRequestWithContext(t.Context(), "POST", "/", body)
				req.ContentLength = tc.length
				_, err := c.Do(req)
				if _, ok := errors.AsType[*CallerError](err); !ok || tc.is != nil && !errors.Is(err, tc.is) {
					t.Errorf("Do() = %v, want one of the request's body", err)
				}
				if _, ok := errors.AsType[*http.MaxBytesError](err); ok != (name == "too large") {
					t.Errorf("Do() = %v, want a MaxBytesError: %t", err, !ok)
				}
				wantCount(t, c, "request_duration_seconds", "caller", 1)
				if got := c.Failures(); len(got) != 0 {
					t.Errorf("Failures() = %v, want none", got)
				}
				eventually(t, "the end of the body", func() bool { return body.closes.Load() > 0 })
				if got := body.closes.Load(); got != 1 {
					t.Errorf("closes = %d, want 1", got)
				}
				wantIdle(t, c)
			})
		})
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestAPanicInARequestBodyIsAnErrorOfTheCallers(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, swallow)
	for range 3 {
		_, err := postIn(t, t.Context(), c, io.MultiReader(strings.NewReader("first"), panicking{}))
		if got := OutcomeOf(err); got != Caller || !strings.Contains(err.Error(), "in Read") {
			t.Errorf("Do() = %v, a %q, want one of the caller's that says what it was", err, got)
		}
		wantIdle(t, c)
	}
}

type panicking struct{}

func (panicking) Read([]byte) (int, error) { panic("in Read") }

func TestNobodyReadsARequestBodyOnceItsCallIsOver(t *testing.T) {
	for name, repeatable := range map[string]bool{"once": false, "repeatable": true} {
		t.Run(name, func(t *testing.T) {
			c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, func(w http.ResponseWriter, r *http.Request) {
				http.NewResponseController(w).EnableFullDuplex()
				w.WriteHeader(http.StatusConflict)
			})
			for range 20 {
				body := &source{Reader: io.LimitReader(zeros{}, 64<<20)}
				req, _ := http.NewRequestWithContext(t.Context(), "POST", "/", body)
				req.ContentLength = 64 << 20
				if repeatable {
					req.GetBody = func() (io.ReadCloser, error) { return body, nil }
				}
				resp, err := c.Do(req)
				if err == nil {
					resp.Body.Close()
				}
				body.over.Store(true)
				eventually(t, "the end of the body", func() bool { return body.closes.Load() > 0 })
				if late, closes := body.late.Load(), body.closes.Load(); late != 0 || closes != 1 {
					t.Errorf("reads after the call, closes = %d, %d, want 0, 1", late, closes)
				}
			}
			wantIdle(t, c)
		})
	}
}

func TestABodyInMemoryMayBeWrittenToOnceItsCallIsOver(t *testing.T) { // the race detector is who minds
	plan := capacity.Plan{InFlight: 8, Streams: 8}
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) })
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			payload := make([]byte, 1<<20)
			for range 20 {
				if resp, err := postIn(t, t.Context(), c, bytes.NewReader(payload)); err == nil {
					resp.Body.Close()
				}
				clear(payload)
			}
		})
	}
	wg.Wait()
	wantIdle(t, c)
}
