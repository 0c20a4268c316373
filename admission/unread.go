package admission

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// A refused request's body is not wanted, but its bytes are on their way. Left
// unread, they break the refusal: net/http reads up to 256 KiB of them before it
// writes the answer, for as long as a slow sender likes; and a connection that is
// closed over unread bytes is reset, which may destroy the answer on its way,
// and which proxies count as a broken replica.
//
// So a body that is nearly here is read, and the connection goes on. Otherwise
// the answer goes out first and says Connection: close, and the sender has a
// while to read it before the connection closes.
const (
	unreadMost  = 256 << 10 // net/http's own bound
	unreadWait  = 50 * time.Millisecond
	unreadAfter = 500 * time.Millisecond // net/http's own delay for the same purpose
)

// unread is a body that the server has not read.
type unread struct {
	body    io.Reader
	length  int64 // -1 if unknown
	conn    *http.ResponseController
	waiting bool // bytes are still to come
}

// unreadOf is false for a request whose body takes care of itself: there is none;
// HTTP/2 resets one stream alone; and who expects 100 Continue has not begun to
// send, and must not be asked to.
func unreadOf(w http.ResponseWriter, r *http.Request) (unread, bool) {
	if r.ProtoMajor != 1 || r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody || r.Header["Expect"] != nil {
		return unread{}, false
	}
	return unread{body: r.Body, length: r.ContentLength, conn: http.NewResponseController(w), waiting: true}, true
}

// before reads a small body that is nearly here. One of unknown length is not
// tried: after a time-out it can't be read on.
func (u *unread) before() {
	if u.length > 0 && u.length <= unreadMost {
		u.read(unreadWait)
	}
}

// after gives the sender time to read the answer. To one with more to send than
// net/http would read, net/http gives it.
func (u *unread) after() {
	if u.waiting && u.length <= unreadMost && u.conn.Flush() == nil {
		u.read(unreadAfter)
	}
}

// read takes what comes within a time. Where that can not be bounded, it takes
// nothing.
func (u *unread) read(within time.Duration) {
	if u.conn.SetReadDeadline(time.Now().Add(within)) != nil {
		return
	}
	_, err := io.CopyN(io.Discard, u.body, unreadMost+1)
	u.waiting = !errors.Is(err, io.EOF)
}
