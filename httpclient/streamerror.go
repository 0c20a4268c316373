package httpclient

import (
	"errors"
	"strings"

	"github.com/offtake-go/offtake/internal/pool"
)

// explain makes an error of a connection that has ended one that says so: most of
// those of net/http have no type.
func explain(c *pool.Conn, err error) error {
	if c.Err() == nil || !c.HTTP2() && !endedUnused(err) {
		return err
	}
	return &brokenError{err}
}

// endedUnused says that a connection of HTTP/1.1 ended when it was not known to
// carry anything. A test provokes the texts.
func endedUnused(err error) bool {
	text := err.Error()
	return text == "http: server closed idle connection" || text == "ClientConn closed" || strings.HasPrefix(text, "readLoopPeekFailLocked: ")
}

// brokenError is a connection that ended under its requests.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// streamError has the fields of the type of that name which net/http keeps to
// itself. Its As method fills in any type that has them.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

// Error makes streamError one that errors.As can look for.
func (e streamError) Error() string { return "stream error" }

const refusedStream = 7 // REFUSED_STREAM: RFC 9113, section 7

// unprocessed says that the upstream has not begun to work on the request: it
// refused the stream, or went away and named a stream before this one as the
// last. For the latter net/http has no type, and the texts are all there is;
// a test provokes them.
func unprocessed(err error) bool {
	if e, ok := errors.AsType[streamError](err); ok {
		return e.Code == refusedStream
	}
	if broken, ok := errors.AsType[*brokenError](err); ok {
		err = broken.err
	}
	switch err.Error() {
	case "http2: Transport received Server's graceful shutdown GOAWAY",
		"http2: client conn not usable",
		"http2: client conn could not be established":
		return true
	}
	return false
}
