package admission

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// full is a door without a free place, and the handler behind it.
func full(t *testing.T) http.Handler {
	t.Helper()
	d := newDoor(t, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, Options{})
	t.Cleanup(take(t, d).Release)
	return d.Handler(http.NotFoundHandler())
}

func TestARefusedUploadThatIsHereKeepsItsConnection(t *testing.T) {
	url, client := serve(t, "HTTP/1.1", full(t))
	for i := range 5 {
		var reused bool
		trace := &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }}
		req, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), trace), "POST", url, strings.NewReader(strings.Repeat("x", 100_000)))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != 429 || resp.Close || reused != (i > 0) {
			t.Errorf("refused upload %d: %d, close %v, reused %v, want 429, false, %v", i, resp.StatusCode, resp.Close, reused, i > 0)
		}
	}
}

// answer is how a refusal arrived.
type answer struct {
	status int
	close  bool
	after  time.Duration
	err    error
}

// listen reads one answer from conn, from now on.
func listen(conn io.Reader) <-chan answer {
	start := time.Now()
	read := make(chan answer, 1)
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			read <- answer{err: err}
			return
		}
		_, err = io.Copy(io.Discard, resp.Body)
		read <- answer{resp.StatusCode, resp.Close, time.Since(start), err}
	}()
	return read
}

func TestASlowUploadGetsItsRefusalAtOnce(t *testing.T) {
	for head, within := range map[string]time.Duration{
		"Content-Length: 1000":       unreadWait,
		"Content-Length: 1000000":    0, // more than would be read
		"Transfer-Encoding: chunked": 0,
	} {
		synctest.Test(t, func(t *testing.T) {
			conn := servePipe(t, full(t))()
			got := listen(conn)
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", head)
			start := time.Now()
			a := <-got
			if a.err != nil || a.status != 429 || !a.close || a.after != within {
				t.Errorf("%s: %+v, want 429 and close within %v", head, a, within)
			}
			if n, _ := conn.Read(make([]byte, 1)); n != 0 {
				t.Errorf("%s: bytes after the answer", head)
			}
			if got, want := time.Since(start), within+unreadAfter; got != want {
				t.Errorf("%s: connection closed after %v, want %v", head, got, want)
			}
		})
	}
}

func TestAnUploadThatEndsInTimeKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := servePipe(t, full(t))()
		for range 3 {
			got := listen(conn)
			io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
			<-time.After(unreadWait / 2)
			io.WriteString(conn, "cd")
			if a := <-got; a.err != nil || a.status != 429 || a.close || a.after != unreadWait/2 {
				t.Errorf("upload of %v: %+v, want 429 right then, and no close", unreadWait/2, a)
			}
			<-time.After(time.Second) // a deadline left behind would end the connection
		}
	})
}

func TestASenderThatDoesNotStopGetsItsRefusal(t *testing.T) {
	url, _ := serve(t, "HTTP/1.1", full(t))
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got := listen(conn)
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n", 100<<20)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for chunk := make([]byte, 64<<10); ; {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := conn.Write(chunk); err != nil {
				return
			}
		}
	}()
	if a := <-got; a.err != nil || a.status != 429 || !a.close {
		t.Errorf("endless upload: %+v, want 429 and close", a)
	}
}

func TestARefusalDoesNotAskForTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := servePipe(t, full(t))()
		got := listen(conn)
		io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
		if a := <-got; a.err != nil || a.status != 429 || a.after != 0 {
			t.Errorf("expecting upload: %+v, want 429 at once, and no 100", a)
		}
	})
}
