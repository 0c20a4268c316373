package httpclient

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// TestAHostileUpstreamCostsNoMoreThanItsBounds lets an upstream do what no server
// should. Each call must end by itself, in an error, with its place back.
func TestAHostileUpstreamCostsNoMoreThanItsBounds(t *testing.T) {
	forever := func(conn net.Conn, head, more string, pause time.Duration) {
		io.WriteString(conn, head)
		for {
			if _, err := io.WriteString(conn, more); err != nil {
				return
			}
			if pause > 0 {
				<-time.After(pause)
			}
		}
	}
	for name, serve := range map[string]func(net.Conn){
		"headers drop by drop":   func(c net.Conn) { forever(c, "HTTP/1.1 200 OK\r\n", "X", 5*time.Millisecond) },
		"headers without an end": func(c net.Conn) { forever(c, "HTTP/1.1 200 OK\r\n", "X-More: "+strings.Repeat("x", 1000)+"\r\n", 0) },
		"one endless header":     func(c net.Conn) { forever(c, "HTTP/1.1 200 OK\r\nX: ", strings.Repeat("x", 1000), 0) },
		"informational for ever": func(c net.Conn) { forever(c, "", "HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n", 0) },
		"continue for ever":      func(c net.Conn) { forever(c, "", "HTTP/1.1 100 Continue\r\n\r\n", 0) },
		"garbage first":          func(c net.Conn) { io.WriteString(c, "\x16\x03\x01\x00garbage\r\n\r\n") },
		"half a status line":     func(c net.Conn) { io.WriteString(c, "HTTP/1.1 2") },
		"a bad length":           func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n") },
		"two lengths": func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n..")
		},
		"a chunk of no number": func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n") },
		"a chunk that is cut off": func(c net.Conn) {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n400\r\nhalf")
		},
		"trailers without an end": func(c net.Conn) {
			forever(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n.\r\n0\r\n", "X: y\r\n", 0)
		},
		"a body drop by drop": func(c net.Conn) {
			forever(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", ".", 5*time.Millisecond)
		},
		"a body without an end":    func(c net.Conn) { forever(c, "HTTP/1.1 200 OK\r\n\r\n", strings.Repeat(".", 4096), 0) },
		"an upgrade nobody wanted": func(c net.Conn) { io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n\r\n") },
	} {
		t.Run(name, func(t *testing.T) {
			plan := capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry, Attempt: 200 * time.Millisecond, BodyIdle: 200 * time.Millisecond, Deadline: 400 * time.Millisecond}
			c := raw(t, plan, &Options{MaxBody: 1 << 20}, func(conn net.Conn, r *bufio.Reader) {
				if _, err := http.ReadRequest(r); err == nil {
					serve(conn)
				}
			})
			resp, err := get(t, c, "/")
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				resp.Body.Close()
			}
			if err == nil && resp.StatusCode != http.StatusSwitchingProtocols {
				t.Error("no error, want one")
			}
			wantIdle(t, c)
			wantCount(t, c, "request_duration_seconds", "", 1)
		})
	}
}
