package httpclient

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestOldConnectionsAreReplacedWithoutLosingARequest(t *testing.T) {
	for _, protocol := range []string{"http", "https", "HTTP/2.0"} {
		c, dials := counted(t, capacity.Plan{InFlight: 4, Attempts: capacity.NoRetry}, protocol, &Options{MaxAge: 5 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			<-time.After(time.Millisecond) // or it would be over before anything is old
			io.Copy(w, r.Body)
		})
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for j := range 18 {
					body := io.Reader(nil)
					switch (i + j) % 3 {
					case 1:
						body = strings.NewReader("again")
					case 2:
						body = io.MultiReader(strings.NewReader("once")) // of unknown length, and only once
					}
					resp, err := c.Post("/", "text/plain", body)
					if err != nil {
						t.Errorf("%s: call %d.%d = %v, want a response", protocol, i, j, err)
						continue
					}
					read(t, resp)
				}
			})
		}
		wg.Wait()
		if got := dials(); got <= 4 {
			t.Errorf("%s: connections = %d, want more than 4: old ones are replaced", protocol, got)
		}
		wantIdle(t, c)
	}
}

func TestConnectionsAgeBehindAWrapperThatCopiesRequests(t *testing.T) {
	server := httptest.NewServer(slow(time.Millisecond))
	defer server.Close()
	c := newClient(t, server.URL, capacity.Plan{InFlight: 2}, &Options{MaxAge: 5 * time.Millisecond, Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			req = req.Clone(req.Context())
			req.Header.Set("Authorization", "Bearer token")
			return next.RoundTrip(req)
		})
	}})
	for i := range 40 {
		var body io.Reader
		if i%2 == 1 {
			body = strings.NewReader("body")
		}
		resp, err := c.Post("/", "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	}
	if got := count(t, c, "dials_total", ""); got < 3 {
		t.Errorf("dials in 40 ms and more = %v, want old connections replaced", got)
	}
}
