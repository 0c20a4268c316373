package offtaketest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// call sends one request that is not repeated, and returns its answer as a word.
func call(t *testing.T, c *httpclient.Client) string {
	t.Helper()
	resp, err := c.Post("/pay", "text/plain", strings.NewReader("10 EUR"))
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			return "timeout"
		}
		return "failed"
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.Status + ", body failed"
	}
	return strings.TrimSpace(resp.Status + " " + string(body))
}

func once() capacity.Plan {
	p := Small()
	p.Attempts = capacity.NoRetry
	return p
}

func TestEachStepIsItsTrouble(t *testing.T) {
	for name, tt := range map[string]struct {
		step Step
		want string
	}{
		"ok":        {OK("paid"), "200 OK paid"},
		"status":    {Status(503), "503 Service Unavailable Service Unavailable"},
		"slow":      {Slow(100*time.Millisecond, OK("paid")), "200 OK paid"},
		"too slow":  {Slow(time.Minute, OK("paid")), "timeout"},
		"hang":      {Hang(), "timeout"},
		"busy":      {Busy(1500 * time.Millisecond), "429 Too Many Requests Too Many Requests"},
		"reset":     {Reset(), "failed"},
		"half body": {HalfBody("paid"), "200 OK, body failed"},
		"go away":   {GoAway(OK("paid")), "200 OK paid"},
	} {
		for _, o := range []*Options{nil, {HTTP2: true}} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					u := Pipes(t, o, tt.step)
					if got := call(t, u.Client(t, once(), nil)); got != tt.want {
						t.Errorf("over pipes, Post() = %q, want %q", got, tt.want)
					}
					u.WantSent(t, "POST /pay")
					if got := u.Sent()[0].Body; got != "10 EUR" {
						t.Errorf("the body that came = %q, want all of it", got)
					}
				})
				u := Loopback(t, o, tt.step)
				if got := call(t, u.Client(t, once(), nil)); got != tt.want {
					t.Errorf("on loopback, Post() = %q, want %q", got, tt.want)
				}
			})
		}
	}
}

func TestTheScriptGoesOnWithItsLastStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := Pipes(t, nil, Status(500), OK("a"), OK("b"))
		c := u.Client(t, once(), nil)
		for _, want := range []string{"500 Internal Server Error Internal Server Error", "200 OK a", "200 OK b", "200 OK b"} {
			if got := call(t, c); got != want {
				t.Errorf("Post() = %q, want %q", got, want)
			}
		}
		u.Script()
		if got := call(t, c); got != "200 OK" {
			t.Errorf("Post() without a script = %q, want 200", got)
		}
		u.WantCount(t, 5)
	})
}

func TestABadEndpointRefusesAndTheOthersDoNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := Pipes(t, &Options{Endpoints: 2})
		u.Break(0)
		if _, err := u.Dial(t.Context(), "", ""); !errors.Is(err, errRefused) {
			t.Errorf("Dial(the bad one) = %v, want %v", err, errRefused)
		}
		c, err := u.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatalf("Dial(the good one) = %v, want nil", err)
		}
		c.Close()
		u.Mend(0)
		if c, err = u.Dial(t.Context(), "", ""); err != nil {
			t.Fatalf("Dial(the one that is mended) = %v, want nil", err)
		}
		c.Close()
	})
}

// recorder takes failures in place of a test.
type recorder struct {
	testing.TB
	failures int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failures++ }

func TestAssertionsFailWhereSomethingElseWasSent(t *testing.T) {
	u := Loopback(t, nil)
	call(t, u.Client(t, once(), nil))
	var r recorder
	u.WantSent(&r, "POST /pay")
	u.WantCount(&r, 1)
	if r.failures != 0 {
		t.Errorf("%d assertions failed, want 0", r.failures)
	}
	u.WantSent(&r, "GET /pay")
	u.WantSent(&r)
	u.WantCount(&r, 2)
	if r.failures != 3 {
		t.Errorf("%d assertions failed, want 3", r.failures)
	}
}

// The example of the package.
func TestABusyUpstreamIsAskedAgainWhenItSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := Pipes(t, nil, Busy(time.Second), OK("paid"))
		resp, err := u.Client(t, capacity.Plan{}, nil).Get("/orders")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if body, err := io.ReadAll(resp.Body); string(body) != "paid" || err != nil {
			t.Errorf("the answer = %q, %v, want paid", body, err)
		}
		u.WantSent(t, "GET /orders", "GET /orders")
		if sent := u.Sent(); sent[1].At.Sub(sent[0].At) < time.Second {
			t.Errorf("the second came %v after the first, want 1s or more", sent[1].At.Sub(sent[0].At))
		}
	})
}
