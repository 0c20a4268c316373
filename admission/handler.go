package admission

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/offtake-go/offtake/internal/gate"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Handler returns next behind the door. A request holds its place until next
// returns or panics, even if the client has left by then: its work goes on, and
// that is what the places bound. So a handler should obey its context, and one
// that hijacks its connection or streams without end keeps a place for as long
// as it does not return.
//
// A client that sends its body or reads its answer slowly does not keep a place
// for as long as it likes. Each read and each write must make progress within the
// plan's BodyIdle, and what the handler waits for its client may add up to the
// plan's Deadline, and a second more for each 16 KiB that came or went. Then Read and
// Write return os.ErrDeadlineExceeded, and the outcome is timeout. The handler's own time
// does not count. A handler that flushes or enables full duplex shows that it
// streams: its writes must make progress, and nothing else is bounded. One that
// sets a deadline by http.ResponseController, or hijacks the connection, bounds it
// by itself, and so does an http.Server with ReadTimeout or WriteTimeout. What is
// upgraded, or is gRPC, is left alone, and so is everybody in observe mode.
//
// A refused request never reaches next. It is told 429 with Retry-After, or 503
// with Connection: close while the door drains, or 504 if its own time ran out
// in the queue. To a client that has left, nothing is written. Over HTTP/1
// net/http sees it leave only once the request's body is read: until then, one
// with a body keeps its turn in the queue, for the plan's Wait at most.
func (d *Door) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(w, r, next) })
}

func (d *Door) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	arrived := time.Now()
	ctx, cancel := told(r, arrived)
	if cancel != nil {
		defer cancel()
	}
	waited, err := d.enter(ctx)
	if err != nil {
		d.turnAway(ctx, w, r, waited, err)
		return
	}
	rw, inner := wrap(w)
	inner.pace.begin(d, w, r)
	hasBody := r.Body != nil && r.Body != http.NoBody
	if ctx != r.Context() || hasBody {
		r = r.WithContext(ctx)
	}
	if hasBody {
		r.Body = &body{r.Body, &inner.pace}
	}
	inner.place.door, inner.place.ctx, inner.place.method = d, ctx, telemetry.OfMethod(r.Method)
	inner.place.arrived, inner.place.entered = arrived, arrived.Add(waited)
	returned := false
	defer func() {
		inner.place.broken, inner.place.slow = !returned, inner.pace.slow.Load()
		inner.place.Release()
	}()
	next.ServeHTTP(rw, r)
	returned = true
}

// told is the request's context with what the request says about itself. The
// cancel function is nil if there is nothing to cancel.
func told(r *http.Request, now time.Time) (context.Context, context.CancelFunc) {
	ctx := r.Context()
	if attempt, ok := incoming.AttemptOf(r.Header); ok {
		ctx = incoming.NewContext(ctx, attempt)
	}
	if timeout, ok := incoming.Timeout(r.Header); ok {
		return context.WithDeadline(ctx, now.Add(timeout))
	}
	return ctx, nil
}

// turnAway answers a request that has no place.
func (d *Door) turnAway(ctx context.Context, w http.ResponseWriter, r *http.Request, waited time.Duration, err error) {
	method := telemetry.OfMethod(r.Method)
	refusal, ok := errors.AsType[*gate.Refusal](err)
	switch {
	case ok && refusal.Reason == gate.Closed:
		d.metrics.Request(method, d.refused(refusal), waited)
		refuse(w, r, http.StatusServiceUnavailable, 0)
	case ok:
		d.metrics.Request(method, d.refused(refusal), waited)
		refuse(w, r, http.StatusTooManyRequests, d.retryAfter(time.Now()))
	case ended(ctx) == telemetry.Timeout:
		d.metrics.Request(method, telemetry.Timeout, waited)
		refuse(w, r, http.StatusGatewayTimeout, 0)
	default:
		d.metrics.Request(method, telemetry.Canceled, waited)
		abort(ctx)
	}
}

// abort ends a request without an answer. To return would not do: net/http then
// writes 200. Outside of a server, in a test of a handler, there is nobody to
// catch the panic and nothing that would be written.
func abort(ctx context.Context) {
	if ctx.Value(http.ServerContextKey) != nil {
		panic(http.ErrAbortHandler)
	}
}
