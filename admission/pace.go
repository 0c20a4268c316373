package admission

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

// A client that sends or reads slowly keeps a handler waiting, and the handler
// keeps its place: eight of them would hold a door of eight places. So what a
// handler waits for its client is bounded in two ways. Each read and each piece of
// a write must make progress within the plan's BodyIdle; and all of them together
// have the plan's Deadline, and a second more for each paceRate bytes that came
// or went.
//
// It is tempting to set both deadlines of the connection once, to the end of the
// Deadline, as http.Server.ReadTimeout and WriteTimeout do. But that takes the
// answer from a handler that was slow itself, and cuts off a long download of a
// client that reads as fast as it can.
const (
	paceRate  = 16 << 10 // bytes/s; a phone on a poor line has more
	pacePiece = 64 << 10 // bytes written at a time; within a BodyIdle of 5 s it is 13 KB/s
	paceFree  = 4 << 10  // net/http's own buffer: nothing has been sent yet
)

// pace is what one request's client may take. The handler may read and write at
// the same time.
type pace struct {
	conn       http.ResponseController
	idle, most time.Duration
	waited     atomic.Int64 // nanoseconds
	moved      atomic.Int64 // bytes

	sent      int         // by the writer, up to paceFree
	streams   atomic.Bool // the handler has flushed: nothing but the progress of its writes is bounded
	freeRead  atomic.Bool // somebody else bounds reading, or nobody can
	freeWrite atomic.Bool
	slow      atomic.Bool // a bound was met
}

// begin starts pacing. What is upgraded, tunneled or gRPC is a stream from the
// start; and where the server has timeouts of its own, these hold.
func (p *pace) begin(d *Door, w http.ResponseWriter, r *http.Request) {
	p.conn = *http.NewResponseController(w)
	p.idle, p.most = time.Duration(d.idle.Load()), time.Duration(d.deadline.Load())
	free := d.observing.Load() || r.Method == http.MethodConnect || r.Header["Upgrade"] != nil ||
		strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
	server, _ := r.Context().Value(http.ServerContextKey).(*http.Server)
	if free || server != nil && server.ReadTimeout > 0 {
		p.freeRead.Store(true)
	}
	if free || server != nil && server.WriteTimeout > 0 {
		p.freeWrite.Store(true)
	}
}

// left is how long the next operation may wait; all of idle for a stream.
func (p *pace) left() time.Duration {
	if p.streams.Load() {
		return p.idle
	}
	earned := time.Duration(p.moved.Load()) * time.Second / paceRate
	return min(p.idle, p.most+earned-time.Duration(p.waited.Load()))
}

// during has an operation of n bytes end in time. Afterwards the connection has no
// deadline: HTTP/2 ends a stream whose deadline passes while nobody waits, and
// net/http takes a read that times out between two requests for a client that left.
func (p *pace) during(set func(time.Time) error, free *atomic.Bool, operation func() (int64, error)) (int64, error) {
	left, began := p.left(), time.Now()
	if left <= 0 {
		p.slow.Store(true)
		return 0, os.ErrDeadlineExceeded
	}
	if set(began.Add(left)) != nil {
		free.Store(true)
		return operation()
	}
	n, err := operation()
	p.waited.Add(int64(time.Since(began)))
	p.moved.Add(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.slow.Store(true)
	} else if err == nil || errors.Is(err, io.EOF) {
		_ = set(time.Time{}) // it could be set before
	}
	return n, err
}

// body is a request's body, read at the client's pace.
type body struct {
	io.ReadCloser
	pace *pace
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.pace.freeRead.Load() || b.pace.streams.Load() {
		return b.ReadCloser.Read(p)
	}
	n, err := b.pace.during(b.pace.conn.SetReadDeadline, &b.pace.freeRead, func() (int64, error) {
		n, err := b.ReadCloser.Read(p)
		return int64(n), err
	})
	return int(n), err
}

// paced writes in pieces.
func paced[T string | []byte](w *writer, p T, write func(T) (int, error)) (total int, err error) {
	if w.pace.freeWrite.Load() {
		return write(p)
	}
	if w.pace.sent += len(p); w.pace.sent <= paceFree {
		return write(p)
	}
	w.pace.sent = paceFree // what follows is beyond it, and nothing overflows
	for {
		piece := p[:min(len(p), pacePiece)]
		n, err := w.pace.during(w.pace.conn.SetWriteDeadline, &w.pace.freeWrite, func() (int64, error) {
			n, err := write(piece)
			return int64(n), err
		})
		total, p = total+int(n), p[min(int(n), len(p)):]
		if err != nil || len(p) == 0 {
			return total, err
		}
	}
}

// readFrom copies. What is sent from a file goes in pieces, so that it goes out by
// sendfile; of anything else the wait for it is not the client's.
func (w *writer) readFrom(r io.Reader) (total int64, err error) {
	limited, ok := r.(*io.LimitedReader)
	if !ok {
		limited = &io.LimitedReader{R: r, N: 1<<63 - 1}
	}
	if _, isFile := limited.R.(*os.File); !isFile || w.pace.freeWrite.Load() {
		if w.pace.freeWrite.Load() {
			return io.Copy(w.ResponseWriter, r)
		}
		return io.Copy(struct{ io.Writer }{w}, r)
	}
	for limited.N > 0 && err == nil {
		piece := &io.LimitedReader{R: limited.R, N: min(limited.N, pacePiece)}
		want := piece.N
		var n int64
		n, err = w.pace.during(w.pace.conn.SetWriteDeadline, &w.pace.freeWrite, func() (int64, error) {
			return io.Copy(w.ResponseWriter, piece)
		})
		total, limited.N = total+n, limited.N-n
		if n < want {
			break // the end of the file
		}
	}
	return total, err
}

// flush shows that the answer is a stream.
func (w *writer) flush() error {
	w.pace.streams.Store(true)
	if w.pace.freeWrite.Load() {
		return w.pace.conn.Flush()
	}
	_, err := w.pace.during(w.pace.conn.SetWriteDeadline, &w.pace.freeWrite, func() (int64, error) { return 0, w.pace.conn.Flush() })
	return err
}

// SetReadDeadline is for http.ResponseController. A handler that sets a deadline
// has the bound on reading in its own hands from then on.
func (w *writer) SetReadDeadline(t time.Time) error {
	w.pace.freeRead.Store(true)
	return w.pace.conn.SetReadDeadline(t)
}

// SetWriteDeadline is the same for writing.
func (w *writer) SetWriteDeadline(t time.Time) error {
	w.pace.freeWrite.Store(true)
	return w.pace.conn.SetWriteDeadline(t)
}

// EnableFullDuplex is for http.ResponseController. A handler that reads while it
// writes streams.
func (w *writer) EnableFullDuplex() error {
	w.pace.streams.Store(true)
	return w.pace.conn.EnableFullDuplex()
}
