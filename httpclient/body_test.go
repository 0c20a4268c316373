package httpclient

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestClosingASmallUnreadBodyKeepsTheConnection(t *testing.T) {
	c, dials := counted(t, capacity.Plan{InFlight: 1}, "http", nil, func(w http.ResponseWriter, _ *http.Request) {
		w.Write(make([]byte, 8<<10))
	})
	for range 20 {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	if got := dials(); got != 1 {
		t.Errorf("connections = %d, want 1", got)
	}
}

func TestClosingAnEndlessBodyReturnsSoon(t *testing.T) {
	for name, pause := range map[string]time.Duration{"fast": 0, "slow": 10 * time.Millisecond} {
		bubble(t, capacity.Plan{InFlight: 1}, nil, func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1024)); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				if pause > 0 {
					<-time.After(pause)
				}
			}
		}, func(t *testing.T, c *Client) {
			resp, err := get(t, c, "/")
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			resp.Body.Close()
			if got := time.Since(start); got > drainTime {
				t.Errorf("%s: Close took %v, want %v at the most", name, got, drainTime)
			}
			wantIdle(t, c)
		})
	}
}

func TestABodyMayTakeLongerThanAnAttempt(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Attempt: 200 * time.Millisecond, Deadline: 2 * time.Second, Attempts: capacity.NoRetry}
	bubble(t, plan, nil, func(w http.ResponseWriter, _ *http.Request) {
		for range 8 {
			w.Write(make([]byte, 64<<10))
			w.(http.Flusher).Flush()
			<-time.After(50 * time.Millisecond)
		}
	}, func(t *testing.T, c *Client) {
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if got := len(read(t, resp)); got != 512<<10 {
			t.Errorf("body = %d bytes, want %d", got, 512<<10)
		}
	})
}

func TestAStreamWithProgressOutlivesTheDeadline(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Attempt: 200 * time.Millisecond, Deadline: time.Second, BodyIdle: 300 * time.Millisecond, Attempts: capacity.NoRetry, Queue: 1, Wait: 100 * time.Millisecond}
	bubble(t, plan, nil, func(w http.ResponseWriter, _ *http.Request) {
		for range 30 {
			w.Write([]byte("."))
			w.(http.Flusher).Flush()
			<-time.After(100 * time.Millisecond)
		}
	}, func(t *testing.T, c *Client) {
		for range 2 {
			go func() {
				req, _ := http.NewRequestWithContext(Stream(t.Context()), "GET", "/", nil)
				resp, err := c.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				if got := read(t, resp); len(got) != 30 {
					t.Errorf("stream = %d bytes, want 30", len(got))
				}
			}()
		}
		<-time.After(2 * time.Second)
		if got := c.Stats().InFlight; got != 2 {
			t.Errorf("in flight with two open streams = %d, want 2", got)
		}
		if _, err := get(t, c, "/"); err == nil {
			t.Error("a third call = nil error, want a refusal: streams hold their places")
		}
		<-time.After(2 * time.Second)
		wantIdle(t, c)
	})
}

func TestALeakedBodyIsCountedAndItsPlaceComesBack(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, BodyIdle: 300 * time.Millisecond}
	bubble(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("."))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}, func(t *testing.T, c *Client) {
		var leaked []*http.Response
		for range 2 {
			resp, err := get(t, c, "/")
			if err != nil {
				t.Fatal(err)
			}
			leaked = append(leaked, resp)
		}
		<-time.After(300 * time.Millisecond)
		synctest.Wait()
		wantIdle(t, c)
		wantCount(t, c, "leaked_bodies_total", "", 2)
		wantCount(t, c, "request_duration_seconds", "caller", 2)
		_, err := io.ReadAll(leaked[0].Body)
		if timeout, ok := errors.AsType[*TimeoutError](err); !ok || !timeout.Unread {
			t.Errorf("reading it afterwards = %v, want a TimeoutError that says nobody read", err)
		}
	})
}

func TestATruncatedBodyIsAFailure(t *testing.T) {
	for name, answer := range map[string]string{
		"by length":  "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat(".", 500),
		"by a chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n400\r\nhalf",
	} {
		c := raw(t, capacity.Plan{InFlight: 1}, nil, answers(func(conn net.Conn, _ *http.Request) bool {
			io.WriteString(conn, answer)
			return false
		}))
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: read = %v, want %v", name, err, io.ErrUnexpectedEOF)
		}
		wantCount(t, c, "request_duration_seconds", "body", 1)
		wantCount(t, c, "request_duration_seconds", "2xx", 0)
	}
}

// zipped compresses a body for a client that asks for it.
func zipped(w http.ResponseWriter, r *http.Request) (out io.Writer, done func()) {
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return w, func() {}
	}
	w.Header().Set("Content-Encoding", "gzip")
	zip := gzip.NewWriter(w)
	return zip, func() { zip.Close() }
}

func TestABodyBeyondTheLimitIsCutWithATypedError(t *testing.T) {
	for name, o := range map[string]*Options{"plain": {MaxBody: 1 << 20}, "bomb": {MaxBody: 1 << 20, Gzip: true}} {
		c, _ := loopback(t, capacity.Plan{InFlight: 1}, o, func(w http.ResponseWriter, r *http.Request) {
			out, done := zipped(w, r)
			defer done()
			for range 8 {
				if _, err := out.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
		})
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if limit, ok := errors.AsType[*BodyLimitError](err); !ok || limit.Limit != 1<<20 || len(b) != 1<<20 {
			t.Errorf("%s: read %d bytes, %v, want %d and a BodyLimitError", name, len(b), err, 1<<20)
		}
		wantCount(t, c, "limited_total", "body", 1)
		wantCount(t, c, "request_duration_seconds", "body", 1)
		wantIdle(t, c)
	}
}

func TestHeadersBeyondTheLimitAreATypedError(t *testing.T) {
	long := strings.Repeat("x", 40<<10)
	handler := func(w http.ResponseWriter, _ *http.Request) {
		for range 7 {
			w.Header().Add("X-Long", long)
		}
	}
	plain, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, handler)
	shared, _ := streamed(t, capacity.Plan{InFlight: 1}, nil, nil, handler)
	for name, c := range map[string]*Client{"HTTP/1.1": plain, "HTTP/2": shared} {
		_, err := get(t, c, "/")
		if limit, ok := errors.AsType[*HeaderLimitError](err); !ok || limit.Limit != defaultMaxHeader {
			t.Errorf("%s: err = %v, want a HeaderLimitError", name, err)
		}
		wantCount(t, c, "request_duration_seconds", "protocol", 1)
	}
}

func TestBodylessAnswersGiveTheirPlaceBackAtOnce(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/204":
			w.WriteHeader(204)
		case "/304":
			w.WriteHeader(304)
		case "/head":
			w.Header().Set("Content-Length", "1000")
		}
	})
	for _, tt := range []struct{ method, path string }{{"GET", "/204"}, {"GET", "/304"}, {"GET", "/empty"}, {"HEAD", "/head"}} {
		req, _ := http.NewRequestWithContext(t.Context(), tt.method, tt.path, nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		wantIdle(t, c)
		if got := read(t, resp); got != "" {
			t.Errorf("%s %s = %q, want nothing", tt.method, tt.path, got)
		}
	}
}

func TestTrailersAndGzipComeAsFromNetHTTP(t *testing.T) {
	for name, o := range map[string]*Options{"plain": nil, "gzip": {Gzip: true}} {
		c, _ := loopback(t, capacity.Plan{InFlight: 1}, o, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "Checksum")
			out, done := zipped(w, r)
			defer done()
			io.WriteString(out, "hello")
			w.Header().Set("Checksum", "42")
		})
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != "hello" || resp.Trailer.Get("Checksum") != "42" || resp.Uncompressed != (o != nil) {
			t.Errorf("%s: %q, trailer %v, uncompressed %v; want hello and 42", name, got, resp.Trailer, resp.Uncompressed)
		}
		if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: Read after Close = nil error, want one", name)
		}
	}
}

func TestExpectContinueSendsTheBodyOnlyWhenAsked(t *testing.T) {
	var got string
	c := raw(t, capacity.Plan{InFlight: 1}, nil, func(conn net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if r.Buffered() > 0 {
			got = "the body came unasked"
		}
		io.WriteString(conn, "HTTP/1.1 100 Continue\r\n\r\n")
		b, _ := io.ReadAll(req.Body)
		got += string(b)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	req, _ := http.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader("body"))
	req.Header.Set("Expect", "100-continue")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, resp); got != "body" {
		t.Errorf("the upstream read %q, want body", got)
	}
}
