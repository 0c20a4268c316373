package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestAnOutcomeIsFoundBelowRetriesAndForFaultsBeforeTheCall(t *testing.T) {
	broken := &RetryError{Attempts: 2, Err: io.ErrUnexpectedEOF, Earlier: &TimeoutError{}}
	for err, want := range map[error]Outcome{
		nil: "", broken: Reset, &HostError{}: Caller, &RedirectError{}: Caller, &BodyLimitError{}: Body,
		&CallerError{Err: errors.New("disk")}: Caller, errors.New("what?"): Protocol, &OneShotError{Err: broken}: Reset,
	} {
		if got := OutcomeOf(err); got != want {
			t.Errorf("OutcomeOf(%v) = %q, want %q", err, got, want)
		}
	}
}

func TestARefusedRedirectShowsNoSecrets(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, &Options{FollowRedirects: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://user:hunter2@other.example/x?token=hunter3")
		w.WriteHeader(http.StatusFound)
	})
	resp, err := get(t, c, "/")
	if text := fmt.Sprint(err); err == nil || strings.Contains(text, "hunter") || !strings.Contains(text, "other.example/x") {
		t.Errorf("Get() = %v, want an error that names the place and no secret", err)
	}
	resp.Body.Close()
}

func TestARetryAllowedAtOnceStillPauses(t *testing.T) {
	for _, after := range []string{"0", "Fri, 02 Jan 1998 15:04:05 GMT"} {
		for range 20 {
			var requests []*http.Request
			plan := capacity.Plan{InFlight: 1, Attempts: 2}
			bubble(t, plan, nil, replies(&requests, http.Header{"Retry-After": {after}}, 429, 200), func(t *testing.T, c *Client) {
				start := time.Now()
				resp, err := get(t, c, "/")
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				if got, least := time.Since(start), 25*time.Millisecond/2; len(requests) != 2 || got < least {
					t.Errorf("a retry after Retry-After: %s came in %v, want %v at the least", after, got, least)
				}
			})
		}
	}
}

func TestADateInRetryAfterIsOfTheUpstreamsClock(t *testing.T) {
	var requests []*http.Request
	header := http.Header{"Date": {"Mon, 02 Jan 2006 15:04:05 GMT"}, "Retry-After": {"Mon, 02 Jan 2006 15:04:07 GMT"}}
	bubble(t, capacity.Plan{InFlight: 1, Attempts: 2}, nil, replies(&requests, header, 429, 200), func(t *testing.T, c *Client) {
		start := time.Now()
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if read(t, resp); time.Since(start) != 2*time.Second {
			t.Errorf("a retry in two seconds of a clock that is behind came in %v, want 2s", time.Since(start))
		}
	})
}

func TestAWrapperThatReturnsNothingOrPanicsFailsAWarm(t *testing.T) {
	for name, wrapped := range map[string]roundTrip{
		"nothing": func(*http.Request) (*http.Response, error) { return nil, nil },
		"panics":  func(*http.Request) (*http.Response, error) { panic("in the wrapper") },
	} {
		o := &Options{WarmPath: "/", Wrap: func(http.RoundTripper) http.RoundTripper { return wrapped }}
		c, _ := loopback(t, capacity.Plan{InFlight: 2, Warm: 2}, o, slow(0))
		if err := c.Warm(t.Context()); err == nil {
			t.Errorf("%s: Warm() = nil, want an error", name)
		}
		wantIdle(t, c)
	}
}

func TestABodyMayBeClosedBesideARead(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 1<<20))
	})
	for range 50 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		wg.Go(func() { io.Copy(io.Discard, resp.Body) })
		resp.Body.Close()
		wg.Wait()
	}
	wantIdle(t, c)
}

func TestPlansThatAreChangedAtOnceLeavePlacesAndPlanAlike(t *testing.T) {
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1}, nil)
	for range 200 {
		var wg sync.WaitGroup
		for n := range 4 {
			wg.Go(func() { c.Resize(capacity.Plan{InFlight: n + 1}) })
		}
		wg.Wait()
		if s := c.Stats(); s.Places != s.Plan.InFlight {
			t.Fatalf("places, planned = %d, %d, want them alike", s.Places, s.Plan.InFlight)
		}
	}
}

func TestAFaultOfTheCallersIsAnsweredAsOne(t *testing.T) {
	for _, tt := range []struct {
		err  interface{ Answer() (int, time.Duration) }
		want int
	}{
		{&CallerError{Err: &http.MaxBytesError{Limit: 5}}, http.StatusRequestEntityTooLarge},
		{&CallerError{Err: fmt.Errorf("read: %w", context.Canceled)}, 499},
		{&CallerError{Err: os.ErrDeadlineExceeded}, http.StatusRequestTimeout},
		{&CallerError{Err: io.ErrUnexpectedEOF}, http.StatusBadRequest},
		{&TimeoutError{Phase: PhaseBodyIdle, Unsent: true}, http.StatusRequestTimeout},
		{&TimeoutError{Phase: PhaseAttempt}, http.StatusGatewayTimeout},
	} {
		if got, _ := tt.err.Answer(); got != tt.want {
			t.Errorf("(%v).Answer() = %d, want %d", tt.err, got, tt.want)
		}
	}
}
