package httpclient

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestObserveModeCountsEveryDecisionAndAppliesNone(t *testing.T) {
	var requests []*http.Request
	plan := capacity.Plan{InFlight: 2, Queue: 1, Attempts: 3, RetryShare: .1}
	bubble(t, plan, &Options{Observe: true, MaxBody: 4}, replies(&requests, nil, 503), func(t *testing.T, c *Client) {
		together(t, c, 10)
		if got := len(requests); got != 10 {
			t.Errorf("requests for 10 calls = %d, want 10: a retry may change an answer", got)
		}
		for _, s := range samples(t, c) {
			switch {
			case s.name == "refused_total" && s.labels["observed"] == "false" && s.value != 0,
				s.name == "limited_total" && s.labels["observed"] == "false" && s.value != 0:
				t.Errorf("%s%v = %v, want none applied", s.name, s.labels, s.value)
			}
		}
		for limit, least := range map[string]float64{"retry": 10, "body": 10} {
			if got := count(t, c, "limited_total", limit); got < least {
				t.Errorf("observed %s = %v, want %v", limit, got, least)
			}
		}
		if got := count(t, c, "refused_total", "queue_full"); got == 0 {
			t.Error("observed refusals = 0, want some")
		}
		if !c.Stats().Observing {
			t.Error("Stats().Observing = false, want true")
		}
		c.Observe(false)
		requests = nil
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := len(requests); got != 3 {
			t.Errorf("requests after observing = %d, want 3", got)
		}
	})
}

// traffic is what a plan would refuse, cut short or repeat.
func traffic(w http.ResponseWriter, r *http.Request) {
	pause := func(d time.Duration) { w.(http.Flusher).Flush(); <-time.After(d) }
	switch r.URL.Path {
	case "/slow":
		<-time.After(1200 * time.Millisecond)
		io.WriteString(w, "late")
	case "/upload":
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n)
	case "/503":
		http.Error(w, "down", http.StatusServiceUnavailable)
	case "/429":
		w.Header().Set("Retry-After", "0")
		http.Error(w, "busy", http.StatusTooManyRequests)
	case "/large":
		w.Write(make([]byte, 1<<20))
	case "/header":
		w.Header().Set("X-Long", strings.Repeat("x", 8<<10))
	case "/pauses":
		for range 3 {
			pause(time.Second)
			io.WriteString(w, "piece")
		}
	case "/forever":
		for range 50 {
			pause(100 * time.Millisecond)
			io.WriteString(w, ".")
		}
	case "/redirect":
		http.Redirect(w, r, "/slow", http.StatusFound)
	case "/cut":
		pause(time.Millisecond)
		panic(http.ErrAbortHandler)
	}
}

// ask sends everything at once, each three times, and returns what came back.
func ask(c *http.Client, body func() io.Reader) map[string][]string {
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := make(map[string][]string)
	for _, path := range []string{"/slow", "/upload", "/503", "/429", "/large", "/header", "/pauses", "/forever", "/redirect", "/cut"} {
		for range 3 {
			wg.Go(func() {
				var sent io.Reader
				if path == "/upload" {
					sent = body()
				}
				req, _ := http.NewRequest(http.MethodPut, "http://upstream.example"+path, sent)
				answer := "an error"
				if resp, err := c.Do(req); err == nil {
					b, err := io.ReadAll(resp.Body)
					resp.Body.Close()
					resp.Header.Del("Date")
					answer = fmt.Sprint(resp.StatusCode, resp.Header, string(b), err)
				}
				mu.Lock()
				defer mu.Unlock()
				got[path] = append(got[path], answer)
			})
		}
	}
	wg.Wait()
	return got
}

func TestAClientThatObservesChangesNoAnswer(t *testing.T) {
	body := func() io.Reader { return &paused{pause: 700 * time.Millisecond, pieces: 3, then: io.EOF} }
	synctest.Test(t, func(t *testing.T) {
		l := newPipeServer(t, traffic)
		base := &http.Transport{DialContext: l.Dial, DisableCompression: true}
		defer base.CloseIdleConnections()
		plain := &http.Client{Transport: base, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		want := ask(plain, body)

		plan := capacity.Plan{InFlight: 1, Queue: capacity.NoQueue, Attempts: 2, Attempt: 500 * time.Millisecond, BodyIdle: 500 * time.Millisecond, Deadline: 2 * time.Second}
		o := &Options{Observe: true, MaxBody: 1 << 10, MaxHeader: 4 << 10, Base: &http.Transport{DialContext: l.Dial}}
		c := newClient(t, "http://upstream.example", plan, o)
		got := ask(c.Client, body)
		for path := range want {
			if fmt.Sprint(got[path]) != fmt.Sprint(want[path]) {
				t.Errorf("%s = %.300v, want what net/http has: %.300v", path, got[path], want[path])
			}
		}
		for _, limit := range []string{"attempt", "body_idle", "deadline", "body", "header", "retry"} {
			if got := count(t, c, "limited_total", limit); got == 0 {
				t.Errorf("observed %s = 0, want some", limit)
			}
		}
		if got := count(t, c, "refused_total", "queue_full"); got == 0 {
			t.Error("observed refusals = 0, want some")
		}
		wantIdle(t, c)
	})
}
