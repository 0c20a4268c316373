package factory

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestListenersWithMistakesAreClosedAndNamed(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = s.ServeOn(t.Context(), Listener{Net: l, Address: ":1"}, Listener{TLS: &tls.Config{}})
	for _, part := range []string{"Listener 0", "Address :1", "Listener 1", "no certificate"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("ServeOn() = %v, want it to contain %q", err, part)
		}
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept() after it = %v, want %v", err, net.ErrClosed)
	}
	if err := s.ServeOn(t.Context()); err == nil {
		t.Error("ServeOn(no listener) = nil, want an error")
	}
	s.Close()
}

func TestAnAddressThatIsTakenClosesTheOthers(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	err = s.ServeOn(t.Context(), Listener{Net: other}, Listener{Address: l.Addr().String()})
	if err == nil || !strings.Contains(err.Error(), "Listener 1") {
		t.Errorf("ServeOn(an address that is taken) = %v, want it to name Listener 1", err)
	}
	if _, err := other.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept() on the other = %v, want %v", err, net.ErrClosed)
	}
}

func TestInboundMistakesAreNamed(t *testing.T) {
	_, err := Open(write(t, two, 8, 4, 2), &Options{Inbound: Inbound{HeaderTime: -1, Idle: 2 * time.Hour, HeaderBytes: -1, Streams: 1 << 30}})
	for _, part := range []string{"Inbound.HeaderTime", "Inbound.Idle", "Inbound.HeaderBytes", "Inbound.Streams"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Open() = %v, want it to name %s", err, part)
		}
	}
}

func TestAnIdleConnectionIsClosed(t *testing.T) {
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Inbound: Inbound{Idle: 50 * time.Millisecond}, Propagation: time.Millisecond, Spread: time.Millisecond})
	url, _ := running(t, s, http.NotFoundHandler())
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("GET /livez HTTP/1.1\r\nHost: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 4096)
	for err == nil {
		_, err = conn.Read(answer)
	}
	if err.Error() != "EOF" {
		t.Errorf("Read() from an idle connection = %v, want EOF", err)
	}
}

// pair writes a certificate for a name and its key.
func pair(t *testing.T, dir, name string) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: cert}, keyFile: {Type: "EC PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return certFile, keyFile
}

func TestARenewedCertificateIsTakenOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		certFile, keyFile := pair(t, dir, "old.example")
		c, err := LoadCertificate(certFile, keyFile)
		if err != nil {
			t.Fatal(err)
		}
		want := func(name, when string) {
			t.Helper()
			got, err := c.Get(nil)
			if err != nil || got.Leaf.DNSNames[0] != name {
				t.Errorf("Get() %s = %v, %v, want that of %s", when, got.Leaf.DNSNames, err, name)
			}
		}
		pair(t, dir, "new.example")
		want("old.example", "at once")
		<-time.After(certificateAge)
		want("new.example", "after a while")
		if err := os.WriteFile(keyFile, []byte("half a k"), 0o600); err != nil {
			t.Fatal(err)
		}
		<-time.After(certificateAge)
		want("new.example", "in the middle of a renewal")
	})
}

func TestACertificateThatIsNotThereIsAnError(t *testing.T) {
	if _, err := LoadCertificate("nowhere.crt", "nowhere.key"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("LoadCertificate(nowhere) = %v, want %v", err, os.ErrNotExist)
	}
}

func TestAnHTTPListenerOverTLSSpeaksHTTP2(t *testing.T) {
	certFile, keyFile := pair(t, t.TempDir(), "checkout.example")
	c, err := LoadCertificate(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, write(t, one, upstream(t).URL()), Options{Propagation: time.Millisecond, Spread: time.Millisecond})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() {
		done <- s.ServeOn(ctx, Listener{Net: l, Handler: http.NotFoundHandler(), TLS: &tls.Config{GetCertificate: c.Get}})
	}()
	pool := x509.NewCertPool()
	leaf, _ := c.Get(nil)
	pool.AddCert(leaf.Leaf)
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "checkout.example"},
	}}
	resp, err := client.Get("https://" + l.Addr().String() + "/livez")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.ProtoMajor != 2 || resp.StatusCode != http.StatusOK {
		t.Errorf("GET /livez = %s %d, want 200 over HTTP/2", resp.Proto, resp.StatusCode)
	}
	client.CloseIdleConnections()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("ServeOn() = %v, want nil", err)
	}
}
