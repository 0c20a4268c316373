package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

func TestAJarKeepsCookies(t *testing.T) {
	jar, _ := cookiejar.New(nil)
	c, server := loopback(t, capacity.Plan{InFlight: 1}, &Options{Jar: jar}, func(w http.ResponseWriter, r *http.Request) {
		if cookie, err := r.Cookie("session"); err == nil {
			io.WriteString(w, cookie.Value)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "42"})
	})
	for _, want := range []string{"", "42"} {
		resp, err := c.Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got := read(t, resp); got != want {
			t.Errorf("cookie = %q, want %q", got, want)
		}
	}
}

func TestAWrappedTransportSeesEachAttempt(t *testing.T) {
	var seen atomic.Int32
	o := &Options{Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			seen.Add(1)
			req = req.Clone(req.Context())
			req.Header.Set("Authorization", "Bearer token")
			return next.RoundTrip(req)
		})
	}}
	var n atomic.Int32
	c, _ := loopback(t, capacity.Plan{InFlight: 1, Attempts: 2}, o, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			w.WriteHeader(503)
		}
		io.WriteString(w, r.Header.Get("Authorization"))
	})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, resp); got != "Bearer token" || seen.Load() != 2 {
		t.Errorf("%q after %d attempts, want the token after 2", got, seen.Load())
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestAPanicInAWrapperGivesThePlaceBack(t *testing.T) {
	panics := true
	o := &Options{Wrap: func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if panics {
				panic("a wrapper's mistake")
			}
			return next.RoundTrip(req)
		})
	}}
	c, _ := loopback(t, capacity.Plan{InFlight: 4}, o, slow(0))
	for range 100 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was swallowed, want it to go on")
				}
			}()
			get(t, c, "/")
		}()
	}
	wantIdle(t, c)
	wantCount(t, c, "request_duration_seconds", "caller", 100)
	panics = false
	together(t, c, 4)
}

func TestAClientCertificateIsShown(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.TLS.PeerCertificates[0].Subject.Organization[0])
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	defer server.Close()
	config := rootsOf(server)
	config.Certificates = server.TLS.Certificates
	c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Base: &http.Transport{TLSClientConfig: config}})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	leaf, _ := x509.ParseCertificate(server.TLS.Certificates[0].Certificate[0])
	if got, want := read(t, resp), leaf.Subject.Organization[0]; got != want {
		t.Errorf("the upstream saw %q, want %q", got, want)
	}
}

func TestAWrapperThatReturnsNothingIsAnError(t *testing.T) {
	for name, resp := range map[string]*http.Response{"nothing": nil, "no body": {StatusCode: 200}} {
		o := &Options{Wrap: func(http.RoundTripper) http.RoundTripper {
			return roundTrip(func(*http.Request) (*http.Response, error) { return resp, nil })
		}}
		c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 1}, o)
		got, err := get(t, c, "/")
		if (err == nil) != (resp != nil) {
			t.Errorf("%s: err = %v, want one only without a response", name, err)
		}
		if err == nil {
			read(t, got)
		}
		wantIdle(t, c)
	}
}
