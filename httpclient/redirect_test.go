package httpclient

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

func TestARedirectIsAResponseUnlessAskedFor(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request reached another host, with headers %v", r.Header)
	}))
	defer other.Close()
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/far":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/whole":
			http.Redirect(w, r, "http://"+r.Host+"/ok", http.StatusFound)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusFound)
		}
	}
	for _, tt := range []struct {
		path   string
		follow bool
		status int
		err    bool
	}{
		{"/near", false, 302, false}, {"/far", false, 302, false},
		{"/near", true, 200, false}, {"/whole", true, 200, false}, {"/far", true, 0, true}, {"/round", true, 0, true},
	} {
		c, _ := loopback(t, capacity.Plan{InFlight: 1}, &Options{FollowRedirects: tt.follow}, handler)
		req, _ := http.NewRequestWithContext(t.Context(), "GET", tt.path, nil)
		req.Header.Set("X-Api-Key", "secret")
		resp, err := c.Do(req)
		if _, ok := errors.AsType[*RedirectError](err); ok != tt.err {
			t.Errorf("%s, follow %v: err = %v, want a RedirectError: %v", tt.path, tt.follow, err, tt.err)
		}
		if err == nil {
			if read(t, resp); resp.StatusCode != tt.status {
				t.Errorf("%s, follow %v: status %d, want %d", tt.path, tt.follow, resp.StatusCode, tt.status)
			}
		}
		wantIdle(t, c)
	}
}

func TestARedirectIsFollowedToAnotherHostOfTheUpstream(t *testing.T) {
	second := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer second.Close()
	handler := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, second.URL, http.StatusFound) }
	own := strings.TrimPrefix(second.URL, "http://")
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, &Options{FollowRedirects: true, Hosts: []string{own}}, handler)
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	if read(t, resp); resp.StatusCode != http.StatusAccepted {
		t.Errorf("status %d, want that of the other host, %d", resp.StatusCode, http.StatusAccepted)
	}
}
