package httpclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestTheReasonOfACallIsTheOutcomeOfItsMetrics(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Queue: capacity.NoQueue, Attempts: capacity.NoRetry, Attempt: 100 * time.Millisecond}
	closed := newClient(t, "http://"+nobody, plan, nil)
	closed.Close()
	full, _ := loopback(t, plan, nil, slow(0))
	full.core.gate.TryEnter()
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the page was closed"))
	status := func(code int) *Client {
		c, _ := loopback(t, plan, nil, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		return c
	}
	secure := httptest.NewTLSServer(slow(0))
	t.Cleanup(secure.Close)
	silent, _ := loopback(t, plan, nil, slow(time.Second))
	for name, tc := range map[string]struct {
		client *Client
		ctx    context.Context
		want   string
	}{
		"a response":            {status(204), t.Context(), "2xx"},
		"a busy upstream":       {status(429), t.Context(), "429"},
		"a broken upstream":     {status(500), t.Context(), "5xx"},
		"no place":              {full, t.Context(), "busy"},
		"closed":                {closed, t.Context(), "closed"},
		"nobody there":          {newClient(t, "http://"+nobody, plan, nil), t.Context(), "connect"},
		"a stranger's name":     {newClient(t, secure.URL, plan, &Options{Base: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}}), t.Context(), "tls"},
		"silence":               {silent, t.Context(), "timeout"},
		"the caller had left":   {silent, gone, "canceled"},
		"a body that is broken": {status(200), t.Context(), "caller"},
	} {
		t.Run(name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(tc.ctx, http.MethodPost, "/", nil)
			if tc.want == "caller" {
				req.Body = &source{Reader: failing{errors.New("broken")}}
			}
			resp, err := tc.client.Do(req)
			if err == nil {
				defer resp.Body.Close()
			}
			if got := ReasonOf(resp, err); got != tc.want {
				t.Errorf("ReasonOf(%v) = %q, want %q", err, got, tc.want)
			}
		})
	}
	if got := ReasonOf(nil, nil); got != "" {
		t.Errorf("ReasonOf(nil, nil) = %q, want none", got)
	}
}

func TestAnErrorOfTLSHasTheTypeThatNetHTTPGivesIt(t *testing.T) {
	overTLS(t, func(t *testing.T, h2 bool) {
		server, _ := handshakes(t, h2)
		c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Protocols: protocol(h2), Base: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}})
		_, err := get(t, c, "/")
		wrapped, ok := err.(*url.Error)
		if !ok {
			t.Fatalf("Get() = %v, want a *url.Error", err)
		}
		if _, ok := wrapped.Err.(*tls.CertificateVerificationError); !ok {
			t.Errorf("its Err is a %T, want a *tls.CertificateVerificationError", wrapped.Err)
		}
	})
}

func TestOurErrorsAreNetErrors(t *testing.T) {
	timeout := &TimeoutError{Phase: PhaseAttempt}
	late, cancel := context.WithDeadlineCause(t.Context(), time.Unix(0, 0), errors.New("mine"))
	defer cancel()
	for _, err := range []net.Error{timeout, &RetryError{Err: timeout, Earlier: timeout}, &OneShotError{Err: timeout}, causeOf(late).(net.Error)} {
		if !err.Timeout() {
			t.Errorf("%T.Timeout() = false, want true", err)
		}
	}
}
