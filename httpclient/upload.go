package httpclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// upload is the body of a request as the engine reads it: the caller's, for as
// long as the attempt lasts. Once that is over nobody begins to read it, and it is
// closed once; the engine's own goroutines may come later than that.
//
// A body that may block is read on a goroutine of its own, one for each Read, so
// that a Read which never returns holds neither the call nor its place nor its
// connection. It is tempting to leave one goroutine running for all of a body; but
// then somebody has to tell it that there will be no further Read.
type upload struct {
	attempt *attempt
	body    io.ReadCloser
	blocks  bool
	length  int64 // as the request states it

	begun atomic.Bool  // somebody has begun to read it
	moved atomic.Int64 // when a Read last began or ended, since the call began
	whole atomic.Bool  // its end has been read

	mu       sync.Mutex // held during a Read that can't block
	reading  bool       // a Read that may block is under way
	closed   bool
	size     int64 // that has been read
	failed   error // of the caller's body
	panicked any
}

// errOver is what the engine reads of a body whose attempt is over.
var errOver = errors.New("httpclient: the call is over")

// guard puts the caller's body behind an upload. Over HTTP/1.1 a short one in
// memory is left as it is: it is written with the headers, at once, and net/http
// would send the headers in a packet of their own before a body it does not know.
func (a *attempt) guard() {
	body := a.request.Body
	if !hasBody(a.request) {
		return
	}
	memory := inMemory(body)
	c := a.call.core
	http1 := c.streams == nil || c.streams.plain.Load()
	if n := a.request.ContentLength; memory && http1 && 0 < n && n <= shortBody {
		return
	}
	a.request.Body = a.watchBody(body, !memory && a.request.GetBody == nil && !isFile(body))
	if again := a.request.GetBody; again != nil { // for repetitions by the engine
		a.request.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil || body == nil {
				return body, err
			}
			return a.watchBody(body, false), nil
		}
	}
}

// watchBody makes body the one that the attempt watches.
func (a *attempt) watchBody(body io.ReadCloser, blocks bool) *upload {
	u := &upload{attempt: a, body: body, blocks: blocks, length: a.request.ContentLength}
	a.mu.Lock()
	a.upload = u
	a.mu.Unlock()
	return u
}

// shortBody is what fits into the buffer of 4 KiB that net/http writes from, with
// the headers of a usual request.
const shortBody = 2 << 10

// chunk is how much of a body that may block is read at once, as net/http does.
const chunk = 32 << 10

var (
	nopCloser         = reflect.TypeOf(io.NopCloser(nil))
	nopCloserWriterTo = reflect.TypeOf(io.NopCloser(new(bytes.Reader)))
)

// inMemory says that a body is what http.NewRequest makes of bytes or a string.
func inMemory(r io.Reader) bool {
	switch r.(type) {
	case *bytes.Reader, *bytes.Buffer, *strings.Reader:
		return true
	}
	if t := reflect.TypeOf(r); t == nopCloser || t == nopCloserWriterTo {
		inner, _ := reflect.ValueOf(r).Field(0).Interface().(io.Reader)
		return inner != nil && inMemory(inner)
	}
	return false
}

// isFile says that a body is a regular file, whose Read no other process delays.
func isFile(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}

// Read implements io.Reader, for the engine.
func (u *upload) Read(p []byte) (int, error) {
	u.mu.Lock()
	if u.closed || u.reading {
		u.mu.Unlock()
		return 0, errOver
	}
	u.touch()
	if u.blocks {
		u.reading = true
		u.mu.Unlock()
		return u.await(p)
	}
	defer u.mu.Unlock()
	return u.tookLocked(pull(u.body, p))
}

// await reads on a goroutine of its own, and waits for it until the attempt ends.
func (u *upload) await(p []byte) (int, error) {
	c := u.attempt.call.core
	buffer, _ := c.chunks.Get().(*[chunk]byte)
	if buffer == nil {
		buffer = new([chunk]byte)
	}
	done := make(chan result, 1)
	c.reading.Add(1)
	go func() {
		defer c.reading.Add(-1)
		if u.over() { // by the time that this runs
			done <- result{err: errOver}
			return
		}
		done <- pull(u.body, buffer[:min(len(p), chunk)])
	}()
	select {
	case r := <-done:
		copy(p, buffer[:r.n])
		c.chunks.Put(buffer)
		u.mu.Lock()
		defer u.mu.Unlock()
		u.reading = false
		return u.tookLocked(r)
	case <-u.attempt.Context.Done():
		return 0, errOver
	}
}

func (u *upload) over() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.closed
}

// result is how a Read of the caller's body ended.
type result struct {
	n        int
	err      error
	panicked any
}

// pull reads the caller's body.
func pull(body io.Reader, p []byte) (r result) {
	r.err = errPanic
	defer func() {
		if r.err == errPanic {
			r.panicked = recover()
		}
	}()
	n, err := body.Read(p)
	if n < 0 || n > len(p) {
		return result{err: fmt.Errorf("its Read returned %d bytes for %d", n, len(p))}
	}
	return result{n: n, err: err}
}

// tookLocked takes note of how a Read ended.
func (u *upload) tookLocked(r result) (int, error) {
	u.touch()
	u.size += int64(r.n)
	switch r.err {
	case nil:
	case io.EOF:
		u.whole.Store(true)
	default:
		u.failed, u.panicked = &bodyError{r.err}, r.panicked
	}
	return r.n, r.err
}

// touch takes note that the body moves.
func (u *upload) touch() {
	u.moved.Store(int64(u.attempt.call.now()))
	u.begun.Store(true)
}

// underway says that the body is being sent, and is not whole yet.
func (u *upload) underway() bool { return u != nil && u.begun.Load() && !u.whole.Load() }

// Close implements io.Closer, for the engine. Where a Read is under way it does
// not wait for it, as the Close of an incoming request's body does.
func (u *upload) Close() error {
	done := u.close()
	select {
	case err := <-done:
		return err
	case <-u.attempt.Context.Done():
		return nil
	}
}

// close closes the caller's body, if that has not been done, and says when it is
// done.
func (u *upload) close() <-chan error {
	done := make(chan error, 2)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.closed:
		done <- nil
	case u.blocks:
		c := u.attempt.call.core
		c.reading.Add(1)
		go func() {
			defer c.reading.Add(-1)
			done <- u.body.Close()
		}()
		if u.reading {
			done <- nil
		}
	default:
		done <- u.body.Close()
	}
	u.closed = true
	return done
}

// unfed says that the caller's body is what the upload waits for.
func (u *upload) unfed() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.reading
}

// blame is what the caller's body did wrong, if anything.
func (u *upload) blame() (failed error, panicked any) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if short := u.whole.Load() && u.size < u.length; u.failed == nil && u.length > 0 && (short || u.size > u.length) {
		return &bodyError{fmt.Errorf("it has not the %d bytes of ContentLength", u.length)}, nil
	}
	return u.failed, u.panicked
}

// due is when the upload has stood still for too long: between its pieces for
// BodyIdle, and after the last for Attempt. It is false before the first.
func (u *upload) due() (time.Duration, bool) {
	moved, l := time.Duration(u.moved.Load()), u.attempt.call
	if u.whole.Load() {
		return moved + l.each(), true
	}
	return moved + l.plan.BodyIdle, u.begun.Load()
}
