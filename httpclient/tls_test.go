package httpclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

// counts are the handshakes that a server has seen.
type counts struct{ full, resumed atomic.Int32 }

func handshakes(t *testing.T, h2 bool) (*httptest.Server, *counts) {
	t.Helper()
	var n counts
	server := httptest.NewUnstartedServer(slow(0))
	server.EnableHTTP2 = h2
	server.TLS = &tls.Config{VerifyConnection: func(s tls.ConnectionState) error {
		if s.DidResume {
			n.resumed.Add(1)
		} else {
			n.full.Add(1)
		}
		return nil
	}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, &n
}

// overTLS runs a test for each protocol.
func overTLS(t *testing.T, test func(t *testing.T, h2 bool)) {
	for _, h2 := range []bool{false, true} {
		t.Run(map[bool]string{false: "HTTP/1.1", true: "HTTP/2"}[h2], func(t *testing.T) { test(t, h2) })
	}
}

func protocol(h2 bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP2(h2)
	p.SetHTTP1(!h2)
	return p
}

// closeIdle closes all connections. A stream ends an instant after its body.
func closeIdle(t *testing.T, c *Client) {
	t.Helper()
	eventually(t, "the end of the connection", func() bool {
		c.CloseIdleConnections()
		return c.Stats().Open == 0
	})
}

func TestAWithdrawnTrustHoldsForTheNextConnection(t *testing.T) {
	overTLS(t, func(t *testing.T, h2 bool) {
		server, _ := handshakes(t, h2)
		withdrawn := errors.New("this certificate is no longer trusted")
		var distrusted atomic.Bool
		config := rootsOf(server)
		config.VerifyPeerCertificate = func([][]byte, [][]*x509.Certificate) error {
			if distrusted.Load() {
				return withdrawn
			}
			return nil
		}
		c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Protocols: protocol(h2), Base: &http.Transport{TLSClientConfig: config}})
		resp, err := get(t, c, "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		distrusted.Store(true)
		closeIdle(t, c)
		if resp, err := get(t, c, "/"); !errors.Is(err, withdrawn) {
			t.Errorf("Get() after the trust was withdrawn = %v, %v, want %v", resp, err, withdrawn)
		}
	})
}

func TestSessionsAreResumedOnlyOutOfTheUsersOwnCache(t *testing.T) {
	overTLS(t, func(t *testing.T, h2 bool) {
		for _, cache := range []tls.ClientSessionCache{nil, tls.NewLRUClientSessionCache(8)} {
			server, n := handshakes(t, h2)
			config := rootsOf(server)
			config.ClientSessionCache = cache
			c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Protocols: protocol(h2), Base: &http.Transport{TLSClientConfig: config}})
			for range 3 {
				resp, err := get(t, c, "/")
				if err != nil {
					t.Fatal(err)
				}
				read(t, resp)
				closeIdle(t, c)
			}
			full, resumed := int32(3), int32(0)
			if cache != nil {
				full, resumed = 1, 2
			}
			if f, r := n.full.Load(), n.resumed.Load(); f != full || r != resumed {
				t.Errorf("handshakes with cache %t = %d full, %d resumed, want %d, %d", cache != nil, f, r, full, resumed)
			}
		}
	})
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
