package factory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/offtaketest"
)

// write makes a contract file and returns its path.
func write(t *testing.T, format string, args ...any) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "offtake.yaml")
	rewrite(t, path, format, args...)
	return path
}

func rewrite(t *testing.T, path, format string, args ...any) {
	t.Helper()
	if err := os.WriteFile(path, fmt.Appendf(nil, format, args...), 0o600); err != nil {
		t.Fatal(err)
	}
}

// open opens a service with a log to look at.
func open(t *testing.T, path string, o Options) (*Service, *log) {
	t.Helper()
	var out log
	o.Logger = slog.New(slog.NewTextHandler(&out, nil))
	if o.Registerer == nil {
		o.Registerer = prometheus.NewRegistry()
	}
	s, err := Open(path, &o)
	if err != nil {
		t.Fatalf("Open() = %v, want nil", err)
	}
	t.Cleanup(func() { s.Close() })
	return s, &out
}

// running serves until stop is called, which returns what Serve returned.
func running(t *testing.T, s *Service, app http.Handler) (url string, stop func() error) {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l, app) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() { stop() })
	return "http://" + l.Addr().String(), stop
}

func status(t *testing.T, url string) (int, http.Header) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header
}

// eventually waits for a condition of a process that runs in real time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(20 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("still not %s after 20s", what)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func upstream(t *testing.T) *offtaketest.Upstream {
	t.Helper()
	return offtaketest.Loopback(t, nil, offtaketest.OK("ok"))
}

// log is a buffer that goroutines may share.
type log struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

var errBroken = errors.New("broken")

// broken is a listener that accepts nothing.
type broken struct{}

func (broken) Accept() (net.Conn, error) { return nil, errBroken }
func (broken) Close() error              { return nil }
func (broken) Addr() net.Addr            { return &net.TCPAddr{} }

func body(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
