package offtaketest

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Step answers one request. Those of this package are trouble of one kind each; a
// step of one's own is a handler like any.
type Step func(w http.ResponseWriter, r *http.Request)

// OK answers 200 with a body.
func OK(body string) Step {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, body) }
}

// Status answers with a status and its text.
func Status(code int) Step {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, http.StatusText(code), code) }
}

// Slow takes a time before next answers, unless its caller leaves before.
func Slow(d time.Duration, next Step) Step {
	return func(w http.ResponseWriter, r *http.Request) {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			next(w, r)
		case <-r.Context().Done():
		}
	}
}

// Hang never answers: it ends when its caller leaves, or with the test.
func Hang() Step { return func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() } }

// Busy answers 429 and asks for a pause, in whole seconds, rounded up; 0 asks for
// none.
func Busy(retryAfter time.Duration) Step {
	return func(w http.ResponseWriter, r *http.Request) {
		if retryAfter > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(int64((retryAfter+time.Second-1)/time.Second)))
		}
		Status(http.StatusTooManyRequests)(w, r)
	}
}

// Reset ends the connection without an answer: over TCP with a reset, over HTTP/2
// that of the one stream.
func Reset() Step {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(http.ErrAbortHandler) // HTTP/2
		}
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
}

// HalfBody announces a body, sends half of it, and ends the connection.
func HalfBody(body string) Step {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		io.WriteString(w, body[:len(body)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// GoAway has next answer, and then takes no more on its connection: over HTTP/2
// with GOAWAY, over HTTP/1.1 with Connection: close.
func GoAway(next Step) Step {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		next(w, r)
	}
}
