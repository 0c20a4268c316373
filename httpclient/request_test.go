package httpclient

import (
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestTheCallersRequestIsNeverModified(t *testing.T) {
	var n atomic.Int32
	c, server := loopback(t, capacity.Plan{InFlight: 1, Attempts: 3, RetryShare: 1}, &Options{MaxAge: time.Nanosecond}, func(w http.ResponseWriter, _ *http.Request) {
		if n.Add(1)%3 != 0 {
			w.WriteHeader(503)
		}
	})
	for range 3 {
		req, _ := http.NewRequestWithContext(t.Context(), "PUT", strings.ToUpper(server.URL[:4])+server.URL[4:]+"/path?q=1#f", strings.NewReader("body"))
		req.Header.Set("X-Custom", "mine")
		header, host, u := maps.Clone(req.Header), req.Host, *req.URL
		resp, err := c.core.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if !reflect.DeepEqual(req.Header, header) || req.Host != host || *req.URL != u || req.Close {
			t.Errorf("request after the call = %v %q %v, want %v %q %v", req.Header, req.Host, req.URL, header, host, &u)
		}
	}
}

// bodyWatch says whether it was closed.
type bodyWatch struct {
	io.Reader
	closed atomic.Bool
}

func (b *bodyWatch) Close() error {
	b.closed.Store(true)
	return nil
}

func TestTheRequestsBodyIsClosedHoweverTheCallEnds(t *testing.T) {
	for name, c := range faults(t) {
		body := &bodyWatch{Reader: strings.NewReader("body")}
		req, _ := http.NewRequestWithContext(t.Context(), "POST", "/", body)
		if _, err := c.Do(req); err == nil {
			t.Errorf("%s: err = nil, want one", name)
		}
		eventually(t, name+": the body closed", body.closed.Load)
	}
	c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1}, nil)
	body := &bodyWatch{Reader: strings.NewReader("body")}
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "http://other.example/", body)
	if _, err := c.Do(req); err == nil {
		t.Error("for another host: err = nil, want one")
	}
	eventually(t, "for another host: the body closed", body.closed.Load)
}
