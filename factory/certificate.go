package factory

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// Certificate is a certificate and its key in two files that somebody renews, as
// cert-manager does. Make one with [LoadCertificate]; goroutines share it. It has
// nothing to close.
type Certificate struct {
	certFile, keyFile string

	mu        sync.Mutex
	looked    time.Time
	cert, key []byte // that current was made from
	current   *tls.Certificate
}

// certificateAge is how long the files are not looked at again. A handshake waits
// for the look, and many handshakes share one.
const certificateAge = 10 * time.Second

// LoadCertificate reads the two files, in PEM.
func LoadCertificate(certFile, keyFile string) (*Certificate, error) {
	c := &Certificate{certFile: certFile, keyFile: keyFile}
	if err := c.read(); err != nil {
		return nil, fmt.Errorf("factory: certificate: %w", err)
	}
	c.looked = time.Now()
	return c, nil
}

// Get is for tls.Config.GetCertificate. It reads the files again, at most once in
// 10 s. While they hold no pair, as in the middle of a renewal, the last good one
// is used: a handshake with it may succeed, one without any can't.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= certificateAge {
		c.looked = now
		_ = c.read() // it keeps what it has
	}
	return c.current, nil
}

// read takes over what the files hold, if it is a pair.
func (c *Certificate) read() error {
	cert, err := os.ReadFile(c.certFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(c.keyFile)
	if err != nil {
		return err
	}
	if bytes.Equal(cert, c.cert) && bytes.Equal(key, c.key) {
		return nil
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return fmt.Errorf("%s with %s: %w", c.certFile, c.keyFile, err)
	}
	c.cert, c.key, c.current = cert, key, &pair
	return nil
}
