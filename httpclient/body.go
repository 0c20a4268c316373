package httpclient

import (
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// Read implements io.Reader for the response's body.
func (a *attempt) Read(p []byte) (int, error) {
	n, err := a.readBody(p)
	if n > 0 {
		read := a.read.Add(int64(n))
		if limit := a.call.core.options.MaxBody; read > limit && limit != NoLimit {
			if over := a.tooLong(read-int64(n), limit); over != nil {
				n, err = n-int(read-limit), over
				a.read.Store(limit)
			}
		}
	}
	switch err {
	case nil:
		a.progress.Store(int64(a.call.now()))
		return n, nil
	case io.EOF:
		a.finish()
		return n, err
	}
	return n, a.broken(err)
}

// readBody reads from the body, and ends the attempt if that panics: a body may be
// one that a wrapper has made, and the caller may recover.
func (a *attempt) readBody(p []byte) (n int, err error) {
	a.reading.Store(true)
	err = errPanic
	defer func() {
		a.reading.Store(false)
		if err == errPanic {
			a.end(telemetry.Protocol)
		}
	}()
	return a.body.Read(p)
}

// tooLong applies the limit on the body at the Read that crosses it, with so much
// read before. The body is said to be one too long once.
func (a *attempt) tooLong(before, limit int64) error {
	if before > limit { // in observe mode, and counted already
		return nil
	}
	if !a.call.core.limits.apply(limitBody) {
		return nil
	}
	err := &BodyLimitError{Upstream: a.call.core.name, Limit: limit}
	a.stop(err)
	return err
}

// broken ends an attempt whose body failed.
func (a *attempt) broken(err error) error {
	err = a.reason(err)
	o := telemetry.Body
	if a.call.ctx.Err() != nil || endedHere(err) {
		o = outcomeOf(err, a.call.ctx)
	}
	a.call.core.telemetry.Failed(o, time.Now(), err)
	a.end(o)
	return err
}

// endedHere says that neither side of the wire ended the body.
func endedHere(err error) bool {
	if _, ok := errors.AsType[*TimeoutError](err); ok {
		return true
	}
	_, ok := errors.AsType[*CallerError](err)
	return ok
}

// Close implements io.Closer for the response's body.
func (a *attempt) Close() error {
	defer a.finish() // even if a wrapper's body panics
	if a.beginDrain() {
		a.drain()
	}
	return a.body.Close()
}

// discard ends an attempt that is followed by another, and returns how it went.
func discard(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	resp.Body.Close()
	return &StatusError{Code: resp.StatusCode}
}
