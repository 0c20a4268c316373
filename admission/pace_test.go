package admission

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// patient is a door that gives a client 3 s, and a second to each step.
func patient(t *testing.T) *Door {
	t.Helper()
	d, err := New(capacity.Plan{InFlight: 1, Queue: capacity.NoQueue, Deadline: 3 * time.Second, BodyIdle: time.Second},
		&Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// ended is how a handler's work with its client ended.
type endedAt struct {
	after time.Duration
	err   error
}

// handled serves one handler behind a patient door and says how it ended.
func handled(t *testing.T, server *http.Server, h func(http.ResponseWriter, *http.Request) error) (dial func() net.Conn, ended <-chan endedAt) {
	t.Helper()
	done, l := make(chan endedAt, 1), pipenet.Listen()
	server.Handler = patient(t).Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		err := h(w, r)
		done <- endedAt{time.Since(began), err}
	}))
	served := make(chan struct{})
	go func() {
		server.Serve(l)
		close(served)
	}()
	t.Cleanup(func() {
		server.Close()
		<-served
	})
	return func() net.Conn {
		c, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}, done
}

func read(_ http.ResponseWriter, r *http.Request) error {
	_, err := io.Copy(io.Discard, r.Body)
	return err
}

func writes(n int) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		_, err := w.Write(make([]byte, n))
		return err
	}
}

func post(length int) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", length)
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"

// trickle sends n bytes a step for a number of steps.
func trickle(n int, step time.Duration, steps int) func(net.Conn) {
	return func(c net.Conn) {
		for range steps {
			<-time.After(step)
			if _, err := c.Write(make([]byte, n)); err != nil {
				return
			}
		}
	}
}

// sip reads n bytes a step.
func sip(n int, step time.Duration) func(net.Conn) {
	return func(c net.Conn) {
		for {
			<-time.After(step)
			if _, err := io.ReadFull(c, make([]byte, n)); err != nil {
				return
			}
		}
	}
}

func drink(c net.Conn) { io.Copy(io.Discard, c) }

func hold(net.Conn) {}

func TestASlowClientKeepsNoPlaceForLongerThanTheDoorAllows(t *testing.T) {
	pause := func(d time.Duration, then func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
		return func(w http.ResponseWriter, r *http.Request) error {
			<-time.After(d)
			return then(w, r)
		}
	}
	const half = 500 * time.Millisecond
	for name, tt := range map[string]struct {
		request string
		client  func(net.Conn)
		handler func(http.ResponseWriter, *http.Request) error
		want    time.Duration // 0 is never cut off
	}{
		"sends nothing":                     {post(100), hold, read, time.Second},
		"sends a byte each half second":     {post(100_000), trickle(1, half, 100), read, 3 * time.Second},
		"sends slowly, and enough":          {post(20 * 16_384), trickle(16_384, half, 20), read, 0},
		"reads nothing":                     {get, hold, writes(1 << 20), time.Second},
		"reads a little each half second":   {get, sip(100, half), writes(1 << 20), time.Second},
		"reads at a megabyte a second":      {get, sip(1<<19, half), writes(20 << 20), 0},
		"reads at once what is late":        {get, drink, pause(time.Minute, writes(1<<20)), 0},
		"sends at once to who reads late":   {post(100), trickle(100, 0, 1), pause(time.Minute, read), 0},
		"reads a small answer late":         {get, hold, writes(1000), 0},
		"does not read what was a stream":   {get, hold, flushing(2, 0, 8<<10), time.Second},
		"reads a stream of many hours":      {get, drink, flushing(4, time.Hour, 1), 0},
		"sends within the handler's time":   {post(100), trickle(10, 5*time.Second, 10), own(read), 0},
		"reads within the handler's time":   {get, sip(1<<20, 10*time.Second), own(writes(5 << 20)), 0},
		"reads nothing of a string":         {get, hold, writesString, time.Second},
		"reads nothing of a file":           {get, hold, file(t, 1<<20), time.Second},
		"reads a file at once":              {get, drink, file(t, 1<<20), 0},
		"reads nothing of somebody's body":  {get, hold, copies(0), time.Second},
		"reads at once what comes slowly":   {get, drink, copies(2 * time.Second), 0},
		"sends a byte each 5 s, and writes": {post(100), trickle(1, 5*time.Second, 100), duplex, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dial, ended := handled(t, &http.Server{}, tt.handler)
				c := dial()
				if _, err := io.WriteString(c, tt.request); err != nil {
					t.Fatal(err)
				}
				left := make(chan struct{})
				go func() {
					tt.client(c)
					close(left)
				}()
				got := <-ended
				if tt.want == 0 && got.err != nil {
					t.Errorf("the handler was cut off after %v with %v, want never", got.after, got.err)
				}
				// What came earns a little more.
				if tt.want != 0 && (got.after.Round(time.Millisecond) != tt.want || !errors.Is(got.err, os.ErrDeadlineExceeded)) {
					t.Errorf("the handler ended after %v with %v, want %v with %v", got.after, got.err, tt.want, os.ErrDeadlineExceeded)
				}
				c.Close()
				<-left
			})
		})
	}
}

// flushing writes n pieces, each after a time.
func flushing(pieces int, step time.Duration, n int) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		for range pieces {
			<-time.After(step)
			if _, err := w.Write(make([]byte, n)); err != nil {
				return err
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		}
		return nil
	}
}

// own bounds its client by itself.
func own(h func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		c := http.NewResponseController(w)
		if err := errors.Join(c.SetReadDeadline(time.Time{}), c.SetWriteDeadline(time.Now().Add(time.Hour))); err != nil {
			return err
		}
		return h(w, r)
	}
}

func duplex(w http.ResponseWriter, r *http.Request) error {
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		return err
	}
	return read(w, r)
}

func writesString(w http.ResponseWriter, _ *http.Request) error {
	_, err := io.WriteString(w, strings.Repeat("x", 1<<20))
	return err
}

func file(t *testing.T, n int) func(http.ResponseWriter, *http.Request) error {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, make([]byte, n), 0o600); err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, _ *http.Request) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if copied, err := io.Copy(w, f); err != nil || copied != int64(n) {
			return fmt.Errorf("copied %d of %d: %w", copied, n, err)
		}
		return nil
	}
}

// copies copies from a source that takes a time for each of five pieces.
func copies(step time.Duration) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, _ *http.Request) error {
		r, source := io.Pipe()
		defer r.Close()
		go func() {
			for range 5 {
				<-time.After(step)
				if _, err := source.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			source.Close()
		}()
		_, err := io.Copy(w, r)
		return err
	}
}

func TestTheServersOwnTimeoutsHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, ended := handled(t, &http.Server{ReadTimeout: 10 * time.Second}, read)
		if _, err := io.WriteString(dial(), post(100)); err != nil {
			t.Fatal(err)
		}
		if got := <-ended; got.after != 10*time.Second {
			t.Errorf("the handler ended after %v, want the server's 10s", got.after)
		}
	})
}

func TestAnUpgradedConnectionIsTheHandlers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, ended := handled(t, &http.Server{}, func(w http.ResponseWriter, _ *http.Request) error {
			c, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return err
			}
			defer c.Close()
			_, err = c.Read(make([]byte, 1))
			return err
		})
		c := dial()
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Hour)
		c.Write([]byte("."))
		if got := <-ended; got.err != nil || got.after != time.Hour {
			t.Errorf("the handler ended after %v with %v, want 1h and nil", got.after, got.err)
		}
	})
}

func TestAKeptConnectionHasNoDeadlineLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial, ended := handled(t, &http.Server{}, func(w http.ResponseWriter, r *http.Request) error {
			return errors.Join(read(w, r), writes(100_000)(w, r))
		})
		c := dial()
		answers := bufio.NewReader(c)
		for range 3 {
			go io.WriteString(c, post(4)+"body")
			resp, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, resp.Body); n != 100_000 || err != nil {
				t.Errorf("Copy() = %d, %v, want 100000, nil", n, err)
			}
			if got := <-ended; got.err != nil {
				t.Errorf("the handler ended with %v, want nil", got.err)
			}
			<-time.After(time.Minute)
		}
	})
}

func TestTheSameHoldsOverHTTP2(t *testing.T) {
	for name, tt := range map[string]struct {
		handler func(http.ResponseWriter, *http.Request) error
		body    bool
		want    time.Duration
	}{
		"a client that reads nothing": {writes(10 << 20), false, time.Second},
		"a client that sends nothing": {read, true, time.Second},
		"a stream of many hours":      {flushing(4, time.Hour, 1), false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h2 http.Protocols
				h2.SetUnencryptedHTTP2(true)
				dial, ended := handled(t, &http.Server{Protocols: &h2}, tt.handler)
				conn := dial()
				transport := &http.Transport{Protocols: &h2, DialContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
				defer transport.CloseIdleConnections()
				var body io.Reader
				if tt.body {
					r, w := io.Pipe()
					defer w.Close()
					body = r
				}
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://a/", body)
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					if resp, err := transport.RoundTrip(req); err == nil {
						<-t.Context().Done()
						resp.Body.Close()
					}
				}()
				got := <-ended
				if tt.want == 0 && got.err != nil || tt.want != 0 && (got.after != tt.want || !errors.Is(got.err, os.ErrDeadlineExceeded)) {
					t.Errorf("the handler ended after %v with %v, want %v", got.after, got.err, tt.want)
				}
				conn.Close()
			})
		})
	}
}
