package httpclient

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestTheLastErrorOfEachOutcomeIsKept(t *testing.T) {
	status := http.StatusOK
	plan := capacity.Plan{InFlight: 1, Attempt: time.Second, Attempts: capacity.NoRetry}
	bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		if status == 0 {
			<-r.Context().Done()
			return
		}
		w.WriteHeader(status)
	}, func(t *testing.T, c *Client) {
		for _, status = range []int{200, 404, 500, 429, 503, 0} {
			if resp, err := get(t, c, "/?secret=1"); err == nil {
				read(t, resp)
			}
			<-time.After(time.Minute)
		}
		want := []struct{ outcome, text string }{
			{"timeout", "no response within its attempt of 1s"}, {"5xx", "status 503"}, {"429", "status 429"},
		}
		got := c.Failures()
		if len(got) != len(want) {
			t.Fatalf("Failures() = %v, want one of each of %v, the latest first", got, want)
		}
		for i, f := range got {
			if f.Outcome != want[i].outcome || !strings.Contains(f.Text, want[i].text) {
				t.Errorf("Failures()[%d] = %v, want %v", i, f, want[i])
			}
		}
		if got := time.Since(got[0].At); got != time.Minute {
			t.Errorf("time since the last failure = %v, want %v", got, time.Minute)
		}
	})
}

func TestTheErrorOfADialAndNoSecretsAreKept(t *testing.T) {
	for name, c := range faults(t) {
		_, err := get(t, c, "/")
		outcome := outcomeOf(err, t.Context())
		got := c.Failures()
		if kept := len(got) == 1 && got[0].Outcome == outcome.String() && got[0].Text != ""; kept != outcome.Failed() {
			t.Errorf("%s: Failures() after %v = %v, want its %v kept: %v", name, err, got, outcome, outcome.Failed())
		}
	}
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1}, &Options{Wrap: func(http.RoundTripper) http.RoundTripper {
		return transport(func(*http.Request) (*http.Response, error) {
			return nil, &url.Error{Op: "Post", URL: "https://me:secret@login.example/secret?token=secret", Err: errors.New("no token")}
		})
	}})
	if _, err := get(t, c, "/"); err == nil {
		t.Fatal("Get() = nil, want the wrapper's error")
	}
	if got, want := c.Failures()[0].Text, `Post "https://login.example/…": no token`; got != want {
		t.Errorf("Failures()[0].Text = %q, want %q", got, want)
	}
}

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestTheOldestConnectionHasItsAge(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 2}, nil, slow(time.Second), func(t *testing.T, c *Client) {
		wantOldest := func(want time.Duration) {
			t.Helper()
			synctest.Wait()
			if got := c.Stats().Oldest; got != want {
				t.Errorf("Stats().Oldest = %v, want %v", got, want)
			}
		}
		wantOldest(0)
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		<-time.After(10 * time.Second)
		wantOldest(11 * time.Second)
		c.CloseIdleConnections()
		wantOldest(0)
	})
}
