package httpclient

import (
	"bufio"
	"net"
	"net/http"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

// newListener accepts connections in its backlog, and serves none.
func newListener(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// raw is a loopback server that does on each connection whatever serve does, for
// answers that no well-behaved server gives.
func raw(t *testing.T, plan capacity.Plan, o *Options, serve func(net.Conn, *bufio.Reader)) *Client {
	t.Helper()
	l := newListener(t, "127.0.0.1:0")
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				serve(conn, bufio.NewReader(conn))
			}()
		}
	}()
	return newClient(t, "http://"+l.Addr().String(), plan, o)
}

// answers reads requests from a connection, and answers each as told, until one
// answer says to stop.
func answers(answer func(conn net.Conn, req *http.Request) bool) func(net.Conn, *bufio.Reader) {
	return func(conn net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil || !answer(conn, req) {
				return
			}
		}
	}
}
