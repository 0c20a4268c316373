package httpclient

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// echo upgrades a connection and sends everything back on it.
func echo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		return
	}
	conn, rw, _ := w.(http.Hijacker).Hijack()
	defer conn.Close()
	io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	io.Copy(conn, rw)
}

func upgraded(t *testing.T, c *Client) io.ReadWriteCloser {
	t.Helper()
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "/", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	conn, ok := resp.Body.(io.ReadWriteCloser)
	if resp.StatusCode != http.StatusSwitchingProtocols || !ok {
		t.Fatalf("status %d with a body of type %T, want 101 and one to write to", resp.StatusCode, resp.Body)
	}
	return conn
}

func TestAnUpgradedConnectionOutlivesAllBoundsAndIsCountedApart(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry}, nil, echo, func(t *testing.T, c *Client) {
		var open []io.ReadWriteCloser
		for range 3 { // more than there are places
			open = append(open, upgraded(t, c))
		}
		wantIdle(t, c)
		<-time.After(time.Minute) // past the deadline
		for _, conn := range open {
			io.WriteString(conn, "hello\n")
			if got, err := bufio.NewReader(conn).ReadString('\n'); got != "hello\n" || err != nil {
				t.Errorf("echo = %q, %v, want hello", got, err)
			}
		}
		if s := c.Stats(); s.Upgraded != 3 || s.Open != 0 {
			t.Errorf("upgraded, open = %d, %d, want 3, 0", s.Upgraded, s.Open)
		}
		wantCount(t, c, "connections", "upgraded", 3)
		resp, err := get(t, c, "/") // an upgrade takes nobody's connection
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
		for _, conn := range open {
			conn.Close()
		}
		if got := c.Stats().Upgraded; got != 0 {
			t.Errorf("upgraded after Close = %d, want 0", got)
		}
		wantCount(t, c, "request_duration_seconds", "1xx", 3)
	})
}

func TestAnUpgradedConnectionCanBeHalfClosed(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, echo)
	conn := upgraded(t, c)
	defer conn.Close()
	io.WriteString(conn, "all there is")
	half, ok := conn.(interface{ CloseWrite() error })
	if !ok {
		t.Fatalf("the body of the upgrade is a %T, which can't be half closed", conn)
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "all there is" || err != nil {
		t.Errorf("echo = %q, %v, want all of it", got, err)
	}
}

// switching answers everything with a 101, and with its headers if there are any.
func switching(headers string) func(net.Conn, *bufio.Reader) {
	return answers(func(c net.Conn, _ *http.Request) bool {
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n"+headers+"\r\n")
		io.Copy(io.Discard, c)
		return false
	})
}

func wantNoConnections(t *testing.T, c *Client) {
	t.Helper()
	wantIdle(t, c)
	eventually(t, "the end of all connections", func() bool {
		s := c.Stats()
		return s.Open == 0 && s.Upgraded == 0
	})
}

func TestASwitchThatNobodyAskedForIsAFaultOfTheUpstreamAndClosesItsConnection(t *testing.T) {
	for name, headers := range map[string]string{"bare": "", "whole": "Connection: Upgrade\r\nUpgrade: echo\r\n"} {
		t.Run(name, func(t *testing.T) {
			c := raw(t, capacity.Plan{InFlight: 2, Warm: 2}, &Options{WarmPath: "/warm"}, switching(headers))
			wantWarmError(t, c, t.Context(), "which the request did not ask for")
			for range 10 {
				if resp, err := get(t, c, "/"); !errors.Is(err, errUnasked) {
					t.Fatalf("Get() = %v, %v, want %v", resp, err, errUnasked)
				}
			}
			wantNoConnections(t, c)
			wantCount(t, c, "request_duration_seconds", "protocol", 10)
		})
	}
}

func TestASwitchWithoutItsHeadersLeavesNoCountBehind(t *testing.T) {
	c := raw(t, capacity.Plan{InFlight: 2}, nil, switching(""))
	for range 10 {
		req, _ := http.NewRequestWithContext(t.Context(), "GET", "/", nil)
		req.Header.Set("Connection", "Upgrade")
		req.Header.Set("Upgrade", "echo")
		if resp, err := c.Do(req); err == nil {
			resp.Body.Close()
		}
	}
	wantNoConnections(t, c)
}
