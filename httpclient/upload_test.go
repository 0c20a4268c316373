package httpclient

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// uploads is a plan whose bounds are told apart by their lengths.
var uploads = capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry, Attempt: 500 * time.Millisecond, BodyIdle: 300 * time.Millisecond, Deadline: 5 * time.Second}

// paused gives pieces, each after a pause, and then blocks or ends.
type paused struct {
	pause  time.Duration
	pieces int
	then   error // nil to block until Close
	reads  atomic.Int64
	closes atomic.Int64
	free   chan struct{}
}

func (b *paused) Read(p []byte) (int, error) {
	b.reads.Add(1)
	if b.pieces--; b.pieces >= 0 {
		<-time.After(b.pause)
		return copy(p, "piece"), nil
	}
	if b.then == nil {
		<-b.free
		return 0, errors.New("too late")
	}
	return 0, b.then
}

func (b *paused) Close() error { b.closes.Add(1); return nil }

func post(t *testing.T, c *Client, body io.Reader) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
	if err != nil {
		t.Fatal(err)
	}
	return c.Do(req)
}

func TestABodyThatBlocksKeepsNeitherCallNorPlace(t *testing.T) {
	bubble(t, uploads, nil, slow(0), func(t *testing.T, c *Client) {
		body := &paused{pieces: 2, pause: 100 * time.Millisecond, free: make(chan struct{})}
		start := time.Now()
		_, err := post(t, c, body)
		timeout, ok := errors.AsType[*TimeoutError](err)
		if !ok || timeout.Phase != PhaseBodyIdle || !timeout.Unsent {
			t.Errorf("Do() = %v, want a TimeoutError of a body that gives nothing", err)
		}
		if got, want := time.Since(start), 500*time.Millisecond; got != want {
			t.Errorf("Do() took %v, want two pauses and BodyIdle: %v", got, want)
		}
		wantIdle(t, c)
		if s := c.Stats(); s.Stuck != 1 || s.Open != 0 {
			t.Errorf("stuck, connections = %d, %d, want 1, 0", s.Stuck, s.Open)
		}
		wantCount(t, c, "request_duration_seconds", "caller", 1)
		if got := c.Failures(); len(got) > 0 {
			t.Errorf("Failures() = %v, want none of the upstream", got)
		}
		reads := body.reads.Load()
		close(body.free)
		synctest.Wait()
		if got := body.reads.Load(); got != reads || body.closes.Load() != 1 {
			t.Errorf("reads after the call, closes = %d, %d, want 0, 1", got-reads, body.closes.Load())
		}
		if got := c.Stats().Stuck; got != 0 {
			t.Errorf("stuck = %d, want 0 once the Read has returned", got)
		}
	})
}

func TestABodyThatMovesIsBoundedByItsPausesAndTheDeadline(t *testing.T) {
	for name, tc := range map[string]struct {
		pause time.Duration
		n     int
		want  time.Duration
		phase Phase // "" for none
	}{
		"a steady one outlives Attempt":  {200 * time.Millisecond, 10, 2 * time.Second, ""},
		"a pause is too long":            {400 * time.Millisecond, 10, 300 * time.Millisecond, PhaseBodyIdle},
		"a steady one ends at Deadline":  {200 * time.Millisecond, 100, 5 * time.Second, PhaseDeadline},
		"the clock begins after the end": {200 * time.Millisecond, -2, 900 * time.Millisecond, PhaseAttempt},
	} {
		t.Run(name, func(t *testing.T) {
			handler := slow(0)
			if tc.n < 0 { // an upstream that takes all and says nothing
				tc.n = -tc.n
				handler = slow(time.Hour)
			}
			bubble(t, uploads, nil, handler, func(t *testing.T, c *Client) {
				start := time.Now()
				resp, err := post(t, c, &paused{pause: tc.pause, pieces: tc.n, then: io.EOF})
				if err == nil {
					read(t, resp)
				}
				var phase Phase
				if timeout, ok := errors.AsType[*TimeoutError](err); ok {
					phase = timeout.Phase
				}
				if got := time.Since(start); phase != tc.phase || got != tc.want {
					t.Errorf("Do() = %v after %v, want phase %q after %v", err, got, tc.phase, tc.want)
				}
				wantIdle(t, c)
			})
		})
	}
}

func TestAnUpstreamThatTakesNothingMoreIsSilentForNoLongerThanBodyIdle(t *testing.T) {
	bubble(t, uploads, &Options{ExpectContinue: NoLimit}, func(http.ResponseWriter, *http.Request) { <-time.After(time.Minute) }, func(t *testing.T, c *Client) {
		start := time.Now()
		_, err := post(t, c, bytes.NewReader(make([]byte, 10<<20)))
		timeout, ok := errors.AsType[*TimeoutError](err)
		if !ok || timeout.Phase != PhaseBodyIdle || timeout.Unsent || time.Since(start) != uploads.BodyIdle {
			t.Errorf("Do() = %v after %v, want a TimeoutError of BodyIdle, which is the upstream's", err, time.Since(start))
		}
		wantCount(t, c, "request_duration_seconds", "timeout", 1)
	})
}

func TestABodyThatFailsIsTheCallersFault(t *testing.T) {
	mine := &http.MaxBytesError{Limit: 3}
	for name, tc := range map[string]struct {
		body io.Reader
		is   error
	}{
		"an error": {&paused{pieces: 1, then: mine}, mine},
		"a panic":  {io.MultiReader(panicBody{nil, "Read"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, uploads, nil, slow(0), func(t *testing.T, c *Client) {
				_, err := post(t, c, tc.body)
				if _, ok := errors.AsType[*CallerError](err); !ok || tc.is != nil && !errors.Is(err, tc.is) {
					t.Errorf("Do() = %v, want a CallerError of %v", err, tc.is)
				}
				wantCount(t, c, "request_duration_seconds", "caller", 1)
				if got := c.Failures(); len(got) > 0 {
					t.Errorf("Failures() = %v, want none of the upstream", got)
				}
				wantIdle(t, c)
			})
		})
	}
}

func TestNoBodyIsReadAfterAnEarlyAnswerIsClosed(t *testing.T) {
	c := raw(t, uploads, nil, func(conn net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			io.WriteString(conn, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 2\r\n\r\nno")
			io.Copy(io.Discard, r)
		}
	})
	for range 20 {
		buffer := make([]byte, 4<<20)
		resp, err := post(t, c, bytes.NewReader(buffer))
		if err == nil {
			resp.Body.Close()
		}
		clear(buffer) // the race detector sees a read that goes on
	}
	wantIdle(t, c)
}
