package pool

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// wire is a connection below TLS.
type wire struct {
	net.Conn
	pool     *Pool
	endpoint string // its name
	born     time.Time
	shared   atomic.Bool

	wrote, read atomic.Int64 // bytes
	heard       atomic.Int64 // HTTP/2 alone: when bytes last came, in nanoseconds after born
	closed      atomic.Bool
	ended       chan struct{} // closed with it
	upgraded    atomic.Bool
	peek        peeker
}

func newWire(raw net.Conn, p *Pool, endpoint string) *wire {
	w := &wire{Conn: raw, pool: p, endpoint: endpoint, born: time.Now(), ended: make(chan struct{})}
	w.peek.init(raw)
	return w
}

// Read implements net.Conn.
func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.read.Add(int64(n))
		if w.shared.Load() {
			w.heard.Store(int64(time.Since(w.born)))
		}
	}
	return n, err
}

// writeGrace is how long a Write that failed is held back: a server that answers
// in the middle of a body, and closes, is then heard, and not only that it closed.
const writeGrace = 10 * time.Millisecond

// Write implements net.Conn.
func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.wrote.Add(int64(n))
	return n, w.hold(err)
}

func (w *wire) hold(err error) error {
	if err == nil || w.shared.Load() {
		return err
	}
	grace := time.NewTimer(writeGrace)
	defer grace.Stop()
	select {
	case <-w.ended: // by ourselves: nothing more is wanted
	case <-grace.C:
	}
	return err
}

// ReadFrom implements io.ReaderFrom, or the body of a request that is a file
// would no longer go out by sendfile.
func (w *wire) ReadFrom(r io.Reader) (int64, error) {
	n, err := io.Copy(w.Conn, r)
	w.wrote.Add(n)
	return n, w.hold(err)
}

// gone says whether the peer has closed the connection, which carries nothing now.
// A fresh one over TLS may have tickets that nobody has read yet.
func (w *wire) gone(fresh bool) bool {
	pending, open := w.peek.look()
	for range 10 {
		if !open || !pending || !fresh {
			break
		}
		time.Sleep(100 * time.Microsecond) // net/http is about to read them
		pending, open = w.peek.look()
	}
	return !open || pending
}

func (w *wire) heardAt() time.Time { return w.born.Add(time.Duration(w.heard.Load())) }

// upgrade counts the connection apart.
func (w *wire) upgrade() {
	if w.upgraded.CompareAndSwap(false, true) {
		w.pool.upgraded.Add(1)
	}
	if w.closed.Load() { // before it was counted
		w.downgrade()
	}
}

// downgrade takes back what upgrade has counted, once.
func (w *wire) downgrade() {
	if w.upgraded.CompareAndSwap(true, false) {
		w.pool.upgraded.Add(-1)
	}
}

// Close implements net.Conn. Closing twice counts once.
func (w *wire) Close() error {
	first := w.closed.CompareAndSwap(false, true)
	if first {
		close(w.ended)
	}
	err := w.Conn.Close()
	if first {
		w.downgrade()
		w.pool.options.Events.Closed(time.Since(w.born))
	}
	return err
}

// CloseWrite ends the sending side, which a user of an upgraded connection may
// want.
func (w *wire) CloseWrite() error {
	if half, ok := w.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return w.Close()
}
