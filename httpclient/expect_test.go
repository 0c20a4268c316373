package httpclient

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/incoming"
)

// long is a body that is asked about before it is sent.
func long() *source { return &source{Reader: io.LimitReader(zeros{}, defaultExpect)} }

func put(t *testing.T, c *Client, body *source) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "/", body)
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = defaultExpect
	req.GetBody = func() (io.ReadCloser, error) { return body, nil }
	return c.Do(req)
}

func TestABusyUpstreamRefusesALongBodyBeforeItIsSent(t *testing.T) {
	overTLS(t, func(t *testing.T, h2 bool) {
		c, _ := streamed(t, capacity.Plan{InFlight: 1}, &Options{Protocols: protocol(h2)}, nil, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTooManyRequests)
		})
		for range 20 {
			body := long()
			resp, err := put(t, c, body)
			if err != nil || resp.StatusCode != http.StatusTooManyRequests {
				t.Fatalf("Do() = %v, %v, want 429", resp, err)
			}
			read(t, resp)
			if got := body.reads.Load(); got != 0 {
				t.Errorf("reads of the body = %d, want none", got)
			}
		}
		wantCount(t, c, "attempts_total", "429", 20)
	})
}

// expecting serves answers to requests, and counts those that expect one before
// their body.
func expecting(t *testing.T, plan capacity.Plan, answer func(net.Conn, *http.Request)) (*Client, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	c := raw(t, plan, nil, func(conn net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if req.Header.Get("Expect") != "" {
				asked.Add(1)
			}
			answer(conn, req)
		}
	})
	return c, &asked
}

func TestAnUpstreamThatLetsAnExpectationPassIsAskedOnce(t *testing.T) {
	c, asked := expecting(t, capacity.Plan{InFlight: 1, Deadline: 2 * time.Second}, func(conn net.Conn, req *http.Request) {
		io.Copy(io.Discard, req.Body)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	for range 3 {
		resp, err := put(t, c, long())
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("requests with an expectation = %d, want 1", got)
	}
}

func TestAnUpstreamThatKnowsNoExpectationsGetsTheRequestWithout(t *testing.T) {
	c, asked := expecting(t, capacity.Plan{InFlight: 1}, func(conn net.Conn, req *http.Request) {
		if req.Header.Get("Expect") != "" {
			io.WriteString(conn, "HTTP/1.1 417 Expectation Failed\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			conn.Close()
			return
		}
		n, _ := io.Copy(io.Discard, req.Body)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Got: "+strconv.FormatInt(n, 10)+"\r\n\r\n")
	})
	for range 3 {
		resp, err := put(t, c, long())
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("X-Got") != strconv.Itoa(defaultExpect) {
			t.Fatalf("Do() = %v, %v, want 200 for all of the body", resp, err)
		}
		read(t, resp)
	}
	if got := asked.Load(); got != 1 {
		t.Errorf("requests with an expectation = %d, want 1", got)
	}
}

func TestNothingIsExpectedOfShortBodiesNorInObserveModeNorUnasked(t *testing.T) {
	for name, o := range map[string]*Options{"short": {ExpectContinue: defaultExpect + 1}, "observing": {Observe: true}, "off": {ExpectContinue: NoLimit}} {
		var asked atomic.Int32
		c, _ := loopback(t, capacity.Plan{InFlight: 1}, o, func(_ http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Expect") != "" {
				asked.Add(1)
			}
			io.Copy(io.Discard, r.Body)
		})
		resp, err := put(t, c, long())
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		if got := asked.Load(); got != 0 {
			t.Errorf("%s: requests with an expectation = %d, want none", name, got)
		}
	}
}

func TestTheUpstreamIsToldHowLongItsAnswerIsWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		tell   bool
		caller time.Duration
		want   time.Duration
	}{
		"its attempt":           {true, 0, 900 * time.Millisecond},
		"the caller's deadline": {true, 300 * time.Millisecond, 300 * time.Millisecond},
		"by default nothing":    {false, 300 * time.Millisecond, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var told time.Duration
			plan := capacity.Plan{InFlight: 1, Deadline: 2 * time.Second, Attempts: 2}
			bubble(t, plan, &Options{TellDeadline: tc.tell}, func(_ http.ResponseWriter, r *http.Request) {
				told, _ = incoming.Timeout(r.Header)
			}, func(t *testing.T, c *Client) {
				ctx := t.Context()
				if tc.caller > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.caller)
					defer cancel()
				}
				req, _ := http.NewRequestWithContext(ctx, http.MethodPut, "/", bytes.NewReader(nil))
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				if told != tc.want {
					t.Errorf("told = %v, want %v", told, tc.want)
				}
			})
		})
	}
}
