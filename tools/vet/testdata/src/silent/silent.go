// Package silent holds code that looks like a defect and is none.
package silent

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

func cancelled(u string, stop chan struct{}) (*http.Response, error) {
	req, err := http.NewRequest("GET", u, nil)
	if err != nil {
		return nil, err
	}
	req.Cancel = stop
	return (&http.Client{}).Do(req)
}

type bound struct {
	ctx context.Context
	c   *http.Client
}

func (b *bound) send(req *http.Request) (*http.Response, error) {
	return b.c.Do(req.WithContext(b.ctx))
}

// The context in scope is for something else: the sender has its own.
func (b *bound) rates(ctx context.Context, u string) (*http.Response, error) {
	req, err := http.NewRequest("GET", u, nil)
	if err != nil {
		return nil, err
	}
	return b.send(req)
}

var once sync.Once

func inOnce(u string, cfg *tls.Config) {
	once.Do(func() {
		c := &http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: cfg}}
		c.Get(u)
	})
}

var answer = sync.OnceValue(func() error {
	c := &http.Client{Timeout: time.Second, Transport: &http.Transport{}}
	_, err := c.Get("https://peer.example")
	return err
})

func keptByCaller() *http.Client {
	return &http.Client{Timeout: time.Second, Transport: &http.Transport{}}
}

var kept = keptByCaller()

func useKept(u string) { kept.Get(u) }

func withoutContext(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	if ctx == nil {
		req, err := http.NewRequestWithContext(context.Background(), "GET", u, nil)
		if err != nil {
			return nil, err
		}
		return c.Do(req)
	}
	req, err := http.NewRequestWithContext(ctx, "GET", u, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

func afterTheAnswer(w http.ResponseWriter, r *http.Request, c *http.Client) {
	w.WriteHeader(http.StatusAccepted)
	req, err := http.NewRequestWithContext(context.Background(), "POST", "https://audit.example", nil)
	if err == nil {
		c.Do(req)
	}
}

// A bounded context of its own is a decision.
func detached(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	own, cancel := context.WithTimeout(context.Background(), time.Second)
	_ = cancel
	req, err := http.NewRequestWithContext(own, "GET", u, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req)
}

func thisMachine(port int) {
	host := "127.0.0.1"
	http.Get(fmt.Sprintf("http://%s:%d/healthz", host, port))
	http.Get("http://" + net.JoinHostPort(host, "80"))
}

func dialers(a string, ctx context.Context) {
	(&net.Dialer{Deadline: time.Now().Add(time.Second)}).Dial("tcp", a)
	(&net.Dialer{}).DialContext(ctx, "tcp", a)
	(&tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}}).Dial("tcp", a)
	tls.DialWithDialer(&net.Dialer{Timeout: time.Second}, "tcp", a, nil)
}

var swapped = http.Get

func swap(f func(string) (*http.Response, error)) { swapped = f }

func useSwapped(u string) { swapped(u) }
