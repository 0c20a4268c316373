package httpclient

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestAWaitForContinueLeavesTimeForTheAnswer(t *testing.T) {
	plan := capacity.Plan{InFlight: 1, Attempts: capacity.NoRetry, Attempt: 900 * time.Millisecond, Deadline: 3 * time.Second}
	c := raw(t, plan, nil, func(conn net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		io.Copy(io.Discard, req.Body) // and says nothing of 100
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, "/", bytes.NewReader(make([]byte, 100)))
	req.Header.Set("Expect", "100-continue")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatalf("Do() = %v, want the answer to a body that went out at last", err)
	}
	read(t, resp)
}
