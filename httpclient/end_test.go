package httpclient

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestABodyThatNobodyClosesGivesItsPlaceBackWhenItsContextEnds(t *testing.T) {
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"canceled": context.WithCancel,
		"deadline": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 2, BodyIdle: time.Minute, Deadline: time.Hour}
			bubble(t, plan, nil, func(w http.ResponseWriter, _ *http.Request) { w.Write(make([]byte, 1<<20)) }, func(t *testing.T, c *Client) {
				for range 20 {
					ctx, cancel := end(t.Context())
					req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
					if _, err := c.Do(req); err != nil { // and forgets it
						t.Fatalf("Do() = %v, want a response", err)
					}
					<-time.After(20 * time.Millisecond)
					cancel()
					<-time.After(glance)
				}
				wantIdle(t, c)
				if got := c.Stats().Leaked; got != 20 {
					t.Errorf("leaked = %d, want 20", got)
				}
			})
		})
	}
}

func TestAnEarlyAnswerToAnUploadThatStallsEndsWithinItsBounds(t *testing.T) {
	leave := make(chan struct{})
	defer close(leave)
	plan := capacity.Plan{InFlight: 4, Streams: 4, Attempts: capacity.NoRetry, Attempt: 200 * time.Millisecond, BodyIdle: 200 * time.Millisecond, Deadline: time.Second}
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush() // and never reads
		<-leave
	})
	for range 4 {
		resp, err := c.Post("/", "", bytes.NewReader(make([]byte, 10<<20)))
		if err != nil {
			t.Fatalf("Post() = %v, want the answer that is there", err)
		}
		_, err = io.ReadAll(resp.Body)
		if timeout, ok := errors.AsType[*TimeoutError](err); !ok || timeout.Phase != PhaseBodyIdle {
			t.Errorf("ReadAll(body) = %v, want a TimeoutError of the body's idleness", err)
		}
		resp.Body.Close()
	}
	wantIdle(t, c)
	if got := c.Stats().Open; got > 1 {
		t.Errorf("connections = %d, want the 1 of the plan", got)
	}
}

func TestAPanicInAWrappedBodyGivesThePlaceBackAndGoesOn(t *testing.T) {
	for _, where := range []string{"Read", "Close"} {
		t.Run(where, func(t *testing.T) {
			o := &Options{Wrap: func(next http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					resp, err := next.RoundTrip(r)
					if err == nil {
						resp.Body = panicBody{resp.Body, where}
					}
					return resp, err
				})
			}}
			c, _ := loopback(t, capacity.Plan{InFlight: 1}, o, slow(0))
			for range 3 {
				resp, err := get(t, c, "/")
				if err != nil {
					t.Fatalf("Get() = %v, want a response", err)
				}
				if got := panicOf(func() { defer resp.Body.Close(); io.ReadAll(resp.Body) }); got != where {
					t.Errorf("panic = %v, want %s", got, where)
				}
				wantIdle(t, c)
			}
		})
	}
}

type panicBody struct {
	io.ReadCloser
	where string
}

func (b panicBody) Read(p []byte) (int, error) {
	if b.where == "Read" {
		panic(b.where)
	}
	return b.ReadCloser.Read(p)
}

func (b panicBody) Close() error {
	defer b.ReadCloser.Close()
	if b.where == "Close" {
		panic(b.where)
	}
	return nil
}

func panicOf(f func()) (got any) {
	defer func() { got = recover() }()
	f()
	return nil
}

func TestTheErrorOfACallNamesWhoeverEndedItAndHowItsContextDid(t *testing.T) {
	mine := errors.New("the page was closed")
	for name, tc := range map[string]struct {
		context func(context.Context) (context.Context, context.CancelFunc)
		is      []error
		outcome string
	}{
		"canceled": {context.WithCancel, []error{context.Canceled}, "canceled"},
		"canceled with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancelCause(ctx)
			return ctx, func() { cancel(mine) }
		}, []error{context.Canceled, mine}, "canceled"},
		"out of time with a cause": {func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeoutCause(ctx, 30*time.Millisecond, mine)
		}, []error{context.DeadlineExceeded, mine}, "timeout"},
	} {
		for _, where := range []string{"in flight", "queued", "reading"} {
			t.Run(name+", "+where, func(t *testing.T) {
				plan := capacity.Plan{InFlight: 1, Queue: 1, Wait: 30 * time.Second, Attempt: time.Minute, BodyIdle: time.Minute, Deadline: time.Hour}
				bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
					if where == "reading" {
						w.(http.Flusher).Flush()
					}
					<-r.Context().Done()
				}, func(t *testing.T, c *Client) {
					if where == "queued" {
						c.core.gate.TryEnter()
						defer c.core.gate.Leave()
					}
					ctx, cancel := tc.context(t.Context())
					time.AfterFunc(40*time.Millisecond, cancel)
					req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
					resp, err := c.Do(req)
					if err == nil {
						_, err = resp.Body.Read(make([]byte, 1))
						resp.Body.Close()
					}
					for _, want := range tc.is {
						if !errors.Is(err, want) {
							t.Errorf("Do() = %v, want it to be %v", err, want)
						}
					}
					var timeout net.Error
					if tc.outcome == "timeout" && (!errors.As(err, &timeout) || !timeout.Timeout()) {
						t.Errorf("Do() = %v, want a net.Error that says Timeout", err)
					}
					synctest.Wait() // the timer may be the one that ends the call
					wantCount(t, c, "request_duration_seconds", tc.outcome, 1)
				})
			})
		}
	}
}
