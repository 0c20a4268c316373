package httpclient

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// upload is the body of a request, between the engine and the caller's own. It
// counts progress, closes what is below it once, and lets go of it when its
// attempt ends: no Read begins after that.
//
// It is tempting to leave the body to the engine and run the engine elsewhere. But
// net/http holds a canceled request back until a Read returns, and with it the
// connection; and what a wrapper does would then be on another goroutine.
type upload struct {
	attempt  *attempt
	body     io.ReadCloser
	reader   *reader      // nil for what is in memory and can't block
	progress atomic.Int64 // when the engine last took something, for it has asked for more; -1 before
	waiting  atomic.Bool  // for the caller's Read
	gave     atomic.Bool  // something, at the last Read

	length int64 // as the request states it; 0 or less if it does not

	mu     sync.Mutex
	size   int64 // that has been read
	failed error // what the caller's Read ended with
	over   bool  // the engine has all there is, or wants no more
	left   bool  // the attempt has let go
	closed bool
}

// errLeft is what the engine reads when the attempt has ended.
var errLeft = errors.New("httpclient: the call has ended")

// errNoBody is a GetBody that does not keep its word.
var errNoBody = errors.New("Request.GetBody returned no body")

// inOneWrite is the longest body in memory that is left to the engine as it is:
// net/http copies that much into one write, with the header.
const inOneWrite = 4 << 10

// inMemory finds the readers that can't block, as http.NewRequest wraps them.
func inMemory(body io.ReadCloser) (length int, ok bool) {
	v := reflect.ValueOf(body)
	if v.Type() != nopCloser && v.Type() != nopCloserTo {
		return 0, false
	}
	switch r := v.Field(0).Interface().(type) {
	case *bytes.Reader:
		return r.Len(), true
	case *bytes.Buffer:
		return r.Len(), true
	case *strings.Reader:
		return r.Len(), true
	}
	return 0, false
}

// The types of io.NopCloser: without WriteTo, and with it.
var (
	nopCloser   = reflect.TypeOf(io.NopCloser(struct{ io.Reader }{}))
	nopCloserTo = reflect.TypeOf(io.NopCloser(new(bytes.Reader)))
)

// takeBody puts an upload around the body of the attempt's request, if it needs
// one.
func (a *attempt) takeBody() {
	if !hasBody(a.request) {
		return
	}
	n, memory := inMemory(a.request.Body)
	if memory && n <= inOneWrite {
		return
	}
	a.request.Body = a.newUpload(a.request.Body, memory)
	if again := a.request.GetBody; again != nil { // the engine may repeat a request that was not begun
		a.request.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			if body == nil {
				return nil, errNoBody
			}
			_, memory := inMemory(body)
			return a.newUpload(body, memory), nil
		}
	}
}

func (a *attempt) newUpload(body io.ReadCloser, memory bool) *upload {
	u := &upload{attempt: a, body: body, length: a.request.ContentLength}
	u.progress.Store(-1)
	if !memory {
		u.reader = newReader(u, a.request.ContentLength)
	}
	a.mu.Lock()
	before, ended := a.upload, a.phase == ended
	a.upload = u
	a.mu.Unlock()
	if before != nil {
		before.leave()
	}
	if ended {
		u.leave()
	}
	return u
}

// Read implements io.Reader, for the engine.
func (u *upload) Read(p []byte) (int, error) {
	if u.progress.Load() < 0 {
		u.attempt.sendsUnasked()
	}
	u.attempt.moved(u)
	if u.reader != nil {
		return u.reader.Read(p)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.left || u.closed {
		return 0, errLeft
	}
	n, err := u.body.Read(p)
	u.took(n, err)
	return n, err
}

// took takes note of what a Read gave, and how it ended. The mutex is held.
func (u *upload) took(n int, err error) {
	u.gave.Store(n > 0)
	u.size += int64(n)
	switch err {
	case nil:
		return
	case io.EOF:
		if u.size < u.length {
			u.failed = &CallerError{Upstream: u.attempt.call.core.name, Err: fmt.Errorf("the request's body has %d bytes, and its ContentLength is %d", u.size, u.length)}
		}
	default:
		u.failed = &CallerError{Upstream: u.attempt.call.core.name, Err: err}
	}
	u.over = true
}

// Close implements io.Closer, for the engine: it wants no more.
func (u *upload) Close() error {
	u.end(false)
	return nil
}

// leave ends the use of the body, whatever the engine may still want.
func (u *upload) leave() { u.end(true) }

func (u *upload) end(left bool) {
	u.mu.Lock()
	u.over = true
	u.left = u.left || left
	first := !u.closed
	u.closed = true
	u.mu.Unlock()
	switch {
	case !first:
	case u.reader != nil:
		u.reader.stop()
	default:
		u.body.Close()
	}
	if !left {
		u.attempt.moved(u)
	}
}

// state says whether the engine may still take something, and how the caller's
// Read failed if it did.
func (u *upload) state() (over bool, failed error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.over, u.failed
}

// moved takes note that the engine has taken what it had. The first time, and
// once all is sent, another bound begins to hold.
func (a *attempt) moved(u *upload) {
	now := a.call.now()
	first := u.progress.Load() < 0
	over, _ := u.state()
	if first || over || u.gave.Load() { // a Read that gives nothing is no progress
		u.progress.Store(int64(now))
	}
	if !first && !over {
		return // the timer will find out
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.upload != u || a.phase != sending || a.timer == nil {
		return
	}
	if due := a.sendDueLocked(); due < a.due {
		a.due = due
		a.timer.reset(a.nextLook(now))
	}
}

// sendDueLocked is when an attempt without a response is out of time. While its
// body moves, BodyIdle bounds each pause; then Attempt holds, from the last that
// the engine took.
func (a *attempt) sendDueLocked() time.Duration {
	l := a.call
	if a.overdue {
		return never
	}
	due := a.entered + l.each()
	if u := a.upload; u != nil {
		if moved := time.Duration(u.progress.Load()); moved >= 0 {
			due = moved + l.each()
			if over, _ := u.state(); !over {
				due = moved + l.plan.BodyIdle
			}
			if l.stream {
				return due
			}
		}
	}
	return min(due, l.plan.Deadline)
}

// uploadingLocked says whether the request's body is under way, and whether it
// waits for the caller's Read.
func (a *attempt) uploadingLocked() (under, waits bool) {
	u := a.upload
	if u == nil || u.progress.Load() < 0 {
		return false, false
	}
	over, _ := u.state()
	return !over, !over && u.waiting.Load()
}

// panicError is a panic of the caller's code on a goroutine of ours.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic in the request's body: %v", e.value) }

// Unwrap returns the value, if it is an error.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}
