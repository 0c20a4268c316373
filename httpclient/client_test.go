package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestACallComesBackAsFromAnyClient(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, slow(10*time.Millisecond), func(t *testing.T, c *Client) {
		resp, err := get(t, c, "http://upstream.example/pay")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != "ok" || resp.StatusCode != 200 {
			t.Errorf("response = %d %q, want 200 ok", resp.StatusCode, got)
		}
		wantIdle(t, c)
	})
}

func TestACallWaitsForAPlaceAndIsRefusedWhenTheWaitIsOver(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Queue: 1, Wait: 50 * time.Millisecond}
	bubble(t, plan, nil, slow(time.Second), func(t *testing.T, c *Client) {
		go func() {
			if resp, err := get(t, c, "/first"); err == nil {
				read(t, resp)
			}
		}()
		<-time.After(time.Millisecond)
		start := time.Now()
		_, err := get(t, c, "/second")
		if got, want := time.Since(start), 50*time.Millisecond; got != want {
			t.Errorf("refused after %v, want %v", got, want)
		}
		refusal, ok := errors.AsType[*offtake.Error](err)
		if !ok || !errors.Is(err, offtake.ErrBusy) {
			t.Fatalf("err = %v, want an *offtake.Error that is ErrBusy", err)
		}
		if refusal.InFlight != 1 || refusal.Places != 1 || refusal.Waited != 50*time.Millisecond || refusal.Upstream != "upstream.example" {
			t.Errorf("refusal = %+v, want 1 of 1 places and a wait of 50ms", refusal)
		}
		<-time.After(time.Second)
		wantIdle(t, c)
	})
}

func TestAPlaceIsHeldUntilTheBodyEnds(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *http.Response, context.CancelFunc){
		"read to its end":      func(t *testing.T, r *http.Response, _ context.CancelFunc) { io.ReadAll(r.Body) },
		"closed":               func(t *testing.T, r *http.Response, _ context.CancelFunc) { r.Body.Close() },
		"closed twice":         func(t *testing.T, r *http.Response, _ context.CancelFunc) { r.Body.Close(); r.Body.Close() },
		"closed after its end": func(t *testing.T, r *http.Response, _ context.CancelFunc) { read(t, r) },
		"cancelled and read":   func(t *testing.T, r *http.Response, cancel context.CancelFunc) { cancel(); io.ReadAll(r.Body) },
		"leaked, until Deadline": func(t *testing.T, r *http.Response, _ context.CancelFunc) {
			<-time.After(2 * time.Second)
			synctest.Wait()
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 1, Deadline: 2 * time.Second, Attempt: time.Second, Attempts: capacity.NoRetry}
			bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
				w.Write(make([]byte, 100_000))
			}, func(t *testing.T, c *Client) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				if got := c.Stats().InFlight; got != 1 {
					t.Errorf("in flight with an open body = %d, want 1", got)
				}
				end(t, resp, cancel)
				wantIdle(t, c)
				if again, err := get(t, c, "/again"); err != nil {
					t.Errorf("the next call = %v, want a response", err)
				} else {
					read(t, again)
				}
			})
		})
	}
}
