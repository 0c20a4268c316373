package httpclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// A body that the caller closes unread is read to its end if that is short and
// quick: the connection can then be used again, and the place that is given back
// is a connection that is free. net/http does the same from Go 1.27 on, but
// behind the caller's back, when the place is long given away.
const (
	drainBytes = 64 << 10
	drainTime  = 50 * time.Millisecond
)

// Read implements io.Reader for the response's body.
func (a *attempt) Read(p []byte) (int, error) {
	a.reading.Store(true)
	n, err := a.body.Read(p)
	a.reading.Store(false)
	if n > 0 {
		a.progress.Store(int64(time.Since(a.call.start)))
		a.read += int64(n)
		if limit := a.call.core.options.MaxBody; limit != NoLimit && a.read > limit {
			tooLong := &BodyLimitError{Upstream: a.call.core.name, Limit: limit}
			a.stop(tooLong)
			n, err = n-int(a.read-limit), tooLong
			a.read = limit
		}
	}
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF:
		a.end(a.status())
		return n, err
	}
	return n, a.broken(err)
}

// broken ends an attempt whose body failed.
func (a *attempt) broken(err error) error {
	err = a.reason(err)
	o := telemetry.Body
	if timeout, ok := errors.AsType[*TimeoutError](err); ok && timeout != nil {
		o = telemetry.Timeout
	} else if a.call.ctx.Err() != nil {
		o = outcomeOf(err, a.call.ctx)
	}
	a.end(o)
	return err
}

// status is the outcome of a response read to its end.
func (a *attempt) status() telemetry.Outcome {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.outcome
}

// Close implements io.Closer for the response's body.
func (a *attempt) Close() error {
	if a.beginDrain() {
		a.drain()
	}
	err := a.body.Close()
	a.end(a.status())
	return err
}

// beginDrain gives the rest of the body a short time, unless it is over or known
// to be long. A stream of HTTP/2 is reset instead: that costs no connection.
func (a *attempt) beginDrain() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.phase != receiving || a.http2 {
		return false
	}
	if a.length > 0 && a.length-a.read > drainBytes {
		return false
	}
	a.phase = draining
	now := time.Now()
	a.due = now.Add(drainTime)
	if a.call.deadline.Before(a.due) && !a.call.stream {
		a.due = a.call.deadline
	}
	a.timer.reset(a.due.Sub(now))
	return true
}

func (a *attempt) drain() {
	_, _ = io.CopyN(io.Discard, a.body, drainBytes) // what is left over, and why, no longer matters
}

// discard ends an attempt that is followed by another, and returns how it went.
func (a *attempt) discard(resp *http.Response, err error) error {
	if err != nil {
		return err
	}
	resp.Body.Close()
	return &StatusError{Code: resp.StatusCode}
}

type streamKey struct{}

// Stream returns a context for calls that are meant to outlive Plan.Deadline:
// once the response's headers are there, only Plan.BodyIdle and ctx itself bound
// the body.
func Stream(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, true)
}

func isStream(ctx context.Context) bool { return ctx.Value(streamKey{}) != nil }
