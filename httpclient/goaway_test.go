package httpclient

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestAConnectionThatGoesAwayLosesNoRequestWithABodyToRepeat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	var n atomic.Int32
	plan := capacity.Plan{InFlight: 4, Streams: 4}
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%5 == 0 {
			w.Header().Set("Connection", "close") // GOAWAY, in HTTP/2
		}
		io.Copy(w, r.Body)
	})
	for i := range 100 {
		req, _ := http.NewRequestWithContext(t.Context(), "PUT", "/", bytes.NewReader([]byte("from bytes")))
		want := "from bytes"
		if i%2 == 1 {
			body := func() (io.ReadCloser, error) { return os.Open(file) }
			req.Body, _ = body()
			req.GetBody, req.ContentLength, want = body, int64(len("from a file")), "from a file"
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatalf("PUT %d = %v, want a response", i, err)
		}
		if got := read(t, resp); got != want {
			t.Errorf("PUT %d = %q, want %q", i, got, want)
		}
	}
	wantIdle(t, c)
}

func TestALongStreamDoesNotKeepAConnectionThatGoesAway(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Streams: 4, Attempt: 5 * time.Second, Deadline: 10 * time.Second, Attempts: capacity.NoRetry}
	release := make(chan struct{})
	c, _ := streamed(t, plan, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/long":
			w.(http.Flusher).Flush()
			<-release
		case "/bye":
			w.Header().Set("Connection", "close")
		}
	})
	long, err := get(t, c, "/long")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/bye", "/", "/", "/"} {
		resp, err := get(t, c, path)
		if err != nil {
			t.Fatalf("GET %s = %v, want a response", path, err)
		}
		read(t, resp)
	}
	close(release)
	read(t, long)
	if got := count(t, c, "dials_total", ""); got > 3 {
		t.Errorf("dials = %v, want 2, or 3 if a request met the first too late", got)
	}
}
