package admission

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// writer notes the status of an answer, and holds the place of its request: one
// heap object for both. It is not pooled: a handler that kept its ResponseWriter
// would then write into another request's answer.
//
// What the writer below can do must stay visible. [http.ResponseController] finds
// it through Unwrap; older code asks with a type assertion, and takes the answer
// at its word, so that a writer must not claim to flush or to be hijacked if the
// one below can not. Hence a type for each combination. Copying with ReadFrom
// and WriteString needs none: it falls back on Write. Two things are out of reach
// for any wrapper: http.Pusher, which browsers have given up, and the unexported
// method by which http.MaxBytesReader has the connection closed; put
// http.MaxBytesHandler in front of the door.
type writer struct {
	http.ResponseWriter
	place Place
	pace  pace
}

// flusher, hijacker and flushHijacker are a writer on top of one that is the
// same. net/http has a flushHijacker for HTTP/1 and a flusher for HTTP/2.
type (
	flusher       struct{ writer }
	hijacker      struct{ writer }
	flushHijacker struct{ flusher }
)

// wrap returns a writer that can do what w can, and the part that all have.
func wrap(w http.ResponseWriter) (http.ResponseWriter, *writer) {
	_, flushes := w.(http.Flusher)
	_, hijacks := w.(http.Hijacker)
	switch {
	case flushes && hijacks:
		o := &flushHijacker{}
		o.ResponseWriter = w
		return o, &o.writer
	case flushes:
		o := &flusher{}
		o.ResponseWriter = w
		return o, &o.writer
	case hijacks:
		o := &hijacker{}
		o.ResponseWriter = w
		return o, &o.writer
	}
	o := &writer{ResponseWriter: w}
	return o, o
}

// WriteHeader notes the first final status; 1xx are on the way to one.
func (w *writer) WriteHeader(status int) {
	if w.place.Status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		w.place.Status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteString implements io.StringWriter.
func (w *writer) WriteString(s string) (int, error) {
	return paced(w, s, func(s string) (int, error) { return io.WriteString(w.ResponseWriter, s) })
}

// Write implements io.Writer.
func (w *writer) Write(p []byte) (int, error) { return paced(w, p, w.ResponseWriter.Write) }

// ReadFrom implements io.ReaderFrom: with it a file goes out by sendfile.
func (w *writer) ReadFrom(r io.Reader) (int64, error) { return w.readFrom(r) }

// Flush implements http.Flusher.
func (w *flusher) Flush() { _ = w.flush() }

// FlushError is what http.ResponseController asks for first.
func (w *flusher) FlushError() error { return w.flush() }

// Hijack implements http.Hijacker.
func (w *hijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// Hijack implements http.Hijacker.
func (w *flushHijacker) Hijack() (net.Conn, *bufio.ReadWriter, error) { return w.hijack() }

// hijack notes what nearly all who take the connection answer on it themselves.
func (w *writer) hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.pace.freeRead.Store(true)
	w.pace.freeWrite.Store(true)
	conn, rw, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil && w.place.Status == 0 {
		w.place.Status = http.StatusSwitchingProtocols
	}
	return conn, rw, err
}
