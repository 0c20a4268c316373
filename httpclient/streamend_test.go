package httpclient

import (
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// early answers with a status and no content, and then goes on.
func early(status int, then func(w http.ResponseWriter, r *http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		if status == http.StatusOK {
			w.Header().Set("Content-Length", "0")
		}
		w.WriteHeader(status)
		w.(http.Flusher).Flush()
		then(w, r)
	}
}

func TestAStreamEndsWithItsTrailersAndNotWithAStatusWithoutContent(t *testing.T) {
	c, _ := streamed(t, capacity.Plan{InFlight: 4, Streams: 2}, nil, nil, func(w http.ResponseWriter, r *http.Request) {
		early(http.StatusOK, func(w http.ResponseWriter, _ *http.Request) {
			<-time.After(time.Millisecond)
			w.Header().Set("Grpc-Status", "8")
		})(w, r)
	})
	for range 50 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if got := resp.Trailer.Get("Grpc-Status"); got != "8" {
			t.Fatalf("trailer = %q, want 8", got)
		}
	}
	wantIdle(t, c)
}

func TestAnEarlyAnswerWithoutContentLeavesTheUploadAlone(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusAccepted} {
		got := make(chan int64, 1)
		c, _ := streamed(t, capacity.Plan{InFlight: 4, Streams: 2}, nil, nil, early(status, func(_ http.ResponseWriter, r *http.Request) {
			n, _ := io.Copy(io.Discard, r.Body)
			got <- n
		}))
		body, feed := io.Pipe()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "/", body)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			feed.Write(make([]byte, 1000))
		}
		feed.Close()
		if n := <-got; n != 20_000 {
			t.Errorf("bytes at the upstream after a %d = %d, want 20000", status, n)
		}
		read(t, resp)
		wantIdle(t, c)
	}
}

func TestAStreamThatEndsWithItsHeadersHoldsNoPlace(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNoContent, http.StatusNotModified} {
		c, _ := streamed(t, capacity.Plan{InFlight: 4, Streams: 2}, nil, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		if _, err := get(t, c, "/"); err != nil { // its body is not closed: there is none
			t.Fatal(err)
		}
		wantIdle(t, c)
	}
}
