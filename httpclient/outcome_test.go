package httpclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// faults are clients whose next call ends in each of the ways there are.
func faults(t *testing.T) map[string]*Client {
	once := capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}
	quick := once
	quick.Attempt, quick.Deadline = 100*time.Millisecond, time.Second
	reset := raw(t, once, nil, answers(func(conn net.Conn, _ *http.Request) bool {
		conn.(*net.TCPConn).SetLinger(0)
		return false
	}))
	secure := httptest.NewUnstartedServer(slow(0))
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	t.Cleanup(secure.Close)
	plain, _ := loopback(t, once, nil, slow(0))
	unknown := newClient(t, "http://upstream.invalid", once, &Options{Resolver: nowhere})
	shut := newClient(t, "http://upstream.example", once, nil)
	shut.Close()
	full := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, nil)
	full.core.gate.TryEnter()
	slowOne, _ := loopback(t, quick, nil, slow(time.Minute))
	proxied := newClient(t, "https://upstream.example", once, &Options{Base: &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: nobody}),
	}})
	return map[string]*Client{
		"nobody listens":        newClient(t, "http://"+nobody, once, nil),
		"no proxy":              proxied,
		"unknown name":          unknown,
		"unknown certificate":   newClient(t, secure.URL, once, nil),
		"TLS to a plain port":   newClient(t, "https"+plain.core.target.String()[len("http"):], once, nil),
		"reset":                 reset,
		"end before the answer": raw(t, once, nil, answers(func(net.Conn, *http.Request) bool { return false })),
		"garbage": raw(t, once, nil, answers(func(conn net.Conn, _ *http.Request) bool {
			io.WriteString(conn, "SSH-2.0-OpenSSH_9.9\r\n\r\n")
			return false
		})),
		"no answer in time": slowOne,
		"full":              full,
		"closed":            shut,
	}
}

func TestEveryErrorIsInTheClosedSetAndInTheMetrics(t *testing.T) {
	for name, c := range faults(t) {
		want := map[string]telemetry.Outcome{
			"nobody listens": telemetry.Connect, "no proxy": telemetry.Connect, "unknown name": telemetry.DNS,
			"unknown certificate": telemetry.TLS, "TLS to a plain port": telemetry.TLS,
			"reset": telemetry.Reset, "end before the answer": telemetry.Reset, "garbage": telemetry.Protocol,
			"no answer in time": telemetry.Timeout, "full": telemetry.Busy, "closed": telemetry.Closed,
		}[name]
		if name != "closed" { // whose metrics are gone
			wantCount(t, c, "request_duration_seconds", want.String(), 0)
		}
		_, err := get(t, c, "/")
		if got := outcomeOf(err, t.Context()); err == nil || got != want {
			t.Errorf("%s: outcome of %v = %v, want %v", name, err, got, want)
		}
		if _, ok := errors.AsType[*url.Error](err); !ok {
			t.Errorf("%s: err = %T, want a *url.Error around it", name, err)
		}
		if name != "closed" {
			wantCount(t, c, "request_duration_seconds", want.String(), 1)
		}
		if timeout, ok := err.(net.Error); !ok || timeout.Timeout() != (want == telemetry.Timeout) {
			t.Errorf("%s: Timeout() of %v, want %v", name, err, want == telemetry.Timeout)
		}
		if got := OutcomeOf(err); string(got) != want.String() {
			t.Errorf("OutcomeOf(%v) = %q, want the word of the metrics, %q", err, got, want)
		}
		switch bare := err.(*url.Error).Err.(type) { // some assert the type, and look no deeper
		case *dialError:
			t.Errorf("%s: err = %T, want an error as net/http has it", name, bare)
		}
		refused := want == telemetry.Busy || want == telemetry.Closed
		if got := errors.Is(err, offtake.ErrBusy) || errors.Is(err, offtake.ErrClosed); got != refused {
			t.Errorf("%s: a refusal = %v, want %v", name, got, refused)
		}
	}
}

func TestTheCallersContextIsNeverTheUpstreamsFailure(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1}, nil, slow(time.Minute), func(t *testing.T, c *Client) {
		cause := errors.New("the customer left")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
		if _, err := c.Do(req); !errors.Is(err, cause) {
			t.Errorf("before the call: err = %v, want %v", err, cause)
		}
		wantCount(t, c, "request_duration_seconds", "canceled", 1)
		wantCount(t, c, "attempts_total", "", 0)
		if telemetry.Canceled.Failed() || telemetry.Busy.Failed() || telemetry.Closed.Failed() {
			t.Error("canceled, busy or closed count as failures, want none of them to")
		}
	})
}

func TestACallThatWaitsInVainIsBusyAndNeverATimeoutOfTheUpstream(t *testing.T) {
	plan := capacity.Plan{InFlight: 2, Queue: 20, Wait: 400 * time.Millisecond, Deadline: 2 * time.Second, Attempts: capacity.NoRetry}
	bubble(t, plan, nil, slow(300*time.Millisecond), func(t *testing.T, c *Client) {
		for range 20 {
			go func() {
				resp, err := get(t, c, "/")
				if err == nil {
					read(t, resp)
				} else if !errors.Is(err, offtake.ErrBusy) {
					t.Errorf("err = %v, want ErrBusy", err)
				}
			}()
		}
		<-time.After(5 * time.Second)
		wantCount(t, c, "request_duration_seconds", "timeout", 0)
		ok, busy := count(t, c, "request_duration_seconds", "2xx"), count(t, c, "request_duration_seconds", "busy")
		if ok < 4 || ok+busy != 20 {
			t.Errorf("calls = %v done, %v busy, want 20 in all and at least 4 done", ok, busy)
		}
	})
}

func TestATimeoutIsTheSameErrorWithBothProtocols(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Attempt: 50 * time.Millisecond, Deadline: time.Second, Attempts: capacity.NoRetry}
	plain, _ := loopback(t, plan, nil, slow(time.Minute))
	shared, _ := streamed(t, plan, nil, nil, slow(time.Minute))
	for name, c := range map[string]*Client{"HTTP/1.1": plain, "HTTP/2": shared} {
		if err := c.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, err := get(t, c, "/")
		timeout, ok := errors.AsType[*TimeoutError](err)
		if !ok || timeout.Phase != PhaseAttempt || !errors.Is(err, context.DeadlineExceeded) || !os.IsTimeout(err) {
			t.Errorf("%s: err = %v, want a TimeoutError for the attempt that is a DeadlineExceeded", name, err)
		}
	}
}

func TestATLSErrorKeepsItsType(t *testing.T) {
	c := faults(t)["unknown certificate"]
	_, err := get(t, c, "/")
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); !ok {
		t.Errorf("err = %v, want a CertificateVerificationError in it", err)
	}
}

func TestAnHTTPTargetThatIsTakenForAnHTTPSOneIsNamedSo(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	c := newClient(t, "https"+strings.TrimPrefix(server.URL, "http"), capacity.Plan{InFlight: 1}, nil)
	_, err := get(t, c, "/")
	if !errors.Is(err, http.ErrSchemeMismatch) || outcomeOf(err, t.Context()) != telemetry.TLS {
		t.Errorf("err = %v, want net/http's ErrSchemeMismatch, of the outcome tls", err)
	}
	if err := c.Warm(t.Context()); !errors.Is(err, http.ErrSchemeMismatch) {
		t.Errorf("Warm() = %v, want net/http's ErrSchemeMismatch", err)
	}
}

func TestSeriesStayFewWhateverIsCalled(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 4}, nil, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200 + len(r.URL.Path)%5)
	})
	methods := []string{"GET", "POST", "BREW", "PROPFIND", "LINK"}
	for i := range 500 {
		req, _ := http.NewRequestWithContext(t.Context(), methods[i%len(methods)], fmt.Sprintf("/%x?q=%d", i*7919, i), nil)
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	}
	all := samples(t, c)
	if len(all) > 40 {
		t.Errorf("series = %d, want 40 at the most", len(all))
	}
	for _, s := range all {
		if m := s.labels["method"]; m != "" && m != "GET" && m != "POST" && m != "other" {
			t.Errorf("method label = %q, want GET, POST or other", m)
		}
	}
}
