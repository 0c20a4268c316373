package httpclient

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
)

// reader reads a body that may block, on a goroutine of its own that begins with
// the first Read and ends with the body. Each Read is asked for: nothing is read
// ahead. What it reads goes through memory of its own, since the engine's must not
// be written to once the engine has gone on.
type reader struct {
	upload  *upload
	memory  []byte
	size    int
	started bool // guarded by the upload's mutex, like the next
	reading bool
	stuck   bool        // its Read was given up on
	want    chan int    // how many bytes
	got     chan result // has room, so that nobody has to take it
	done    chan struct{}
	once    sync.Once // for Close
}

type result struct {
	n   int
	err error
}

// readAtOnce is what net/http copies at once.
const readAtOnce = 32 << 10

func newReader(u *upload, length int64) *reader {
	size := readAtOnce
	if length > 0 && length < readAtOnce {
		size = int(length) + 1 // to see that it is the end
	}
	return &reader{
		upload: u, size: size,
		want: make(chan int, 1), got: make(chan result, 1), done: make(chan struct{}),
	}
}

// Read has the goroutine read, and returns without it when the upload is over.
func (r *reader) Read(p []byte) (int, error) {
	u := r.upload
	u.mu.Lock()
	if u.closed {
		u.mu.Unlock()
		return 0, errLeft
	}
	if !r.started {
		r.started = true
		r.memory = make([]byte, r.size)
		go r.serve()
	}
	u.mu.Unlock()
	u.waiting.Store(true)
	defer u.waiting.Store(false)
	r.want <- min(len(p), r.size)
	select {
	case got := <-r.got:
		return copy(p, r.memory[:got.n]), got.err
	case <-r.done:
	case <-u.attempt.Done(): // net/http holds a canceled request back until this returns
	}
	u.leave()
	return 0, errLeft
}

// serve reads until the body ends or nobody wants more of it, and closes it.
func (r *reader) serve() {
	core := r.upload.attempt.call.core
	defer func() {
		core.stuck.Add(1)
		core.shut(r.shut)
	}()
	for {
		select {
		case n := <-r.want:
			if !r.begin() {
				return
			}
			got := r.read(r.memory[:n])
			if r.finish(got) {
				return
			}
			r.got <- got
		case <-r.done:
			return
		}
	}
}

// begin says whether a Read may.
func (r *reader) begin() bool {
	r.upload.mu.Lock()
	defer r.upload.mu.Unlock()
	r.reading = !r.upload.closed
	return r.reading
}

// finish takes note of a Read that has returned, and says whether it was given
// up on meanwhile.
func (r *reader) finish(got result) (late bool) {
	u := r.upload
	u.mu.Lock()
	defer u.mu.Unlock()
	r.reading = false
	if r.stuck {
		u.attempt.call.core.stuck.Add(-1)
	}
	if u.closed {
		return true
	}
	u.took(got.n, got.err)
	return false
}

func (r *reader) read(p []byte) (got result) {
	defer func() {
		if v := recover(); v != nil {
			got = result{err: &panicError{v}}
		}
	}()
	n, err := r.upload.body.Read(p)
	if n < 0 || n > len(p) {
		return result{err: errBadRead}
	}
	return result{n, err}
}

// stop is called once, when the upload is over. A Read that is under way is woken,
// where a Close beside it is known to do no harm.
func (r *reader) stop() {
	u := r.upload
	u.mu.Lock()
	started, reading := r.started, r.reading
	if r.stuck = reading; reading {
		u.attempt.call.core.stuck.Add(1)
	}
	close(r.done)
	u.mu.Unlock()
	switch {
	case !started:
		u.attempt.call.core.closeApart(r.shut)
	case reading && wakes(u.body):
		r.shut()
	}
}

// shut closes the body once.
func (r *reader) shut() { r.once.Do(func() { r.upload.body.Close() }) }

// wakes says whether a Close is allowed beside a Read, and ends it. It is tempting
// to close any body: net/http does with HTTP/2. But few say that they allow it.
func wakes(body io.Closer) bool {
	switch body.(type) {
	case *io.PipeReader, *os.File, net.Conn:
		return true
	}
	return false
}

var errBadRead = errors.New("httpclient: the request's body returned an impossible count from Read")
