package httpclient

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

func TestABodyThatCanBeReadOnceIsNotSentAgainAndTheErrorSaysSo(t *testing.T) {
	var n atomic.Int32
	plan := capacity.Plan{InFlight: 1}
	c, _ := loopback(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		conn, _, _ := w.(http.Hijacker).Hijack()
		conn.Close()
	})
	req, _ := http.NewRequestWithContext(t.Context(), "PUT", "/", io.MultiReader(strings.NewReader("once")))
	_, err := c.Do(req)
	if _, ok := errors.AsType[*OneShotError](err); !ok {
		t.Errorf("err = %v, want a OneShotError", err)
	}
	if got := n.Load(); got != 1 {
		t.Errorf("requests = %d, want 1", got)
	}
}

func TestRepeatedBodiesAreTheSameBytes(t *testing.T) {
	want := bytes.Repeat([]byte("0123456789abcdef"), 100<<10/16)
	file := filepath.Join(t.TempDir(), "body")
	if err := os.WriteFile(file, want, 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() (io.ReadCloser, error) { return os.Open(file) }
	for name, tt := range map[string]struct {
		body     func() (io.Reader, func() (io.ReadCloser, error))
		attempts int32
	}{
		"bytes":     {func() (io.Reader, func() (io.ReadCloser, error)) { return bytes.NewReader(want), nil }, 2},
		"a file":    {func() (io.Reader, func() (io.ReadCloser, error)) { f, _ := open(); return f, open }, 2},
		"read once": {func() (io.Reader, func() (io.ReadCloser, error)) { return io.MultiReader(bytes.NewReader(want)), nil }, 1},
		"GetBody bad": {func() (io.Reader, func() (io.ReadCloser, error)) {
			return bytes.NewReader(want), func() (io.ReadCloser, error) { return nil, errors.New("the file is gone") }
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int32
			var sums [2][32]byte
			c, _ := loopback(t, capacity.Plan{InFlight: 1, Attempts: 2}, nil, func(w http.ResponseWriter, r *http.Request) {
				i := n.Add(1)
				if i == 1 { // in the middle of the body
					io.CopyN(io.Discard, r.Body, 1000)
					conn, _, _ := w.(http.Hijacker).Hijack()
					conn.(*net.TCPConn).SetLinger(0)
					conn.Close()
					return
				}
				b, _ := io.ReadAll(r.Body)
				sums[1] = sha256.Sum256(b)
			})
			body, getBody := tt.body()
			req, _ := http.NewRequestWithContext(t.Context(), "PUT", "/", body)
			if getBody != nil {
				req.GetBody, req.ContentLength = getBody, int64(len(want))
			}
			resp, err := c.Do(req)
			if err == nil {
				read(t, resp)
			}
			if got := n.Load(); got != tt.attempts {
				t.Errorf("requests = %d, want %d (%v)", got, tt.attempts, err)
			}
			if tt.attempts == 2 && sums[1] != sha256.Sum256(want) {
				t.Error("the second attempt had other bytes")
			}
			wantIdle(t, c)
		})
	}
}
