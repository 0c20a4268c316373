package admission

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/offtake-go/offtake/internal/pipenet"
)

// protocols are served by a real server each.
var protocols = []string{"HTTP/1.1", "HTTP/2"}

// serve starts a server on loopback and returns its URL and a client for it.
func serve(t *testing.T, protocol string, h http.Handler) (string, *http.Client) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	if protocol == "HTTP/2" {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	t.Cleanup(srv.Close)
	return srv.URL, srv.Client()
}

// servePipe starts a server in a synctest bubble and returns a function that
// dials it.
func servePipe(t *testing.T, h http.Handler) func() net.Conn {
	t.Helper()
	l := pipenet.Listen()
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		srv.Serve(l)
		close(done)
	}()
	t.Cleanup(func() {
		srv.Close()
		<-done
	})
	return func() net.Conn {
		conn, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
}

// do sends a request and drops its body.
func do(ctx context.Context, c *http.Client, method, url string, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	return resp, resp.Body.Close()
}
