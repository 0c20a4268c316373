package grpcclient

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// stream is one stream of a user, from the wait for its place to its end: until its
// caller has seen it end, or its context has ended.
//
// It is tempting to end it when grpc-go says that it is over. But between the two
// are the user's interceptors: one may open another in its place, or answer from a
// cache and open none, or keep the call options to itself.
type stream struct {
	grpc.ClientStream
	attempt  *attempt
	caller   context.Context
	cancel   context.CancelCauseFunc
	span     trace.Span
	kind     telemetry.Method
	single   bool // one message comes back, and is the end
	answered bool // it has; only whoever receives knows
	method   string
	name     string
	start    time.Time
	waited   time.Duration
	idle     bound
	ended    sync.Once
	channel  *channel
	expire   context.CancelFunc // of the lifetime, for a stream that is over
	cut      atomic.Bool        // see errCut
	receives watchdog
	sends    watchdog
}

// NewStream implements grpc.ClientConnInterface: it opens a stream, once. A stream
// is never sent again: only its caller knows what was read from it.
func (c *Conn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	core, err := c.alive()
	if err != nil {
		return nil, err
	}
	return core.newStream(ctx, nil, desc, method, options)
}

func (c *core) newStream(ctx context.Context, pinned *link, desc *grpc.StreamDesc, method string, options []grpc.CallOption) (grpc.ClientStream, error) {
	s := &stream{kind: kindOf(desc), single: !desc.ServerStreams, method: method, name: ownName(method, options), start: time.Now()}
	s.caller, s.span = c.tracer.Start(ctx, spanName(method))
	own, plan := c.methods.of(method), c.sizes.Load().plan
	opening := &bound{PhaseAttempt, orElse(own.Attempt, plan.Once)}
	s.idle = bound{PhaseIdle, orElse(own.Idle, plan.BodyIdle)}
	s.attempt = &attempt{core: c, pinned: pinned}
	if err := s.enter(s.start.Add(opening.limit)); err != nil {
		s.settle(time.Now(), err)
		return nil, err
	}
	return s.open(desc, opening, orElse(own.Lifetime, c.options.Lifetime), options)
}

func orElse(d, byDefault time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return byDefault
}

func kindOf(desc *grpc.StreamDesc) telemetry.Method {
	switch {
	case desc.ClientStreams && desc.ServerStreams:
		return telemetry.BidiStream
	case desc.ClientStreams:
		return telemetry.ClientStream
	}
	return telemetry.ServerStream
}

// enter takes a place among those for streams, and then one of the plan's.
func (s *stream) enter(until time.Time) error {
	k := s.attempt.core
	waited, err := k.streams.EnterBy(s.caller, until)
	s.waited = waited
	if err != nil {
		return k.turnedAway(s.caller, waited, err, k.full)
	}
	left := s.start.Add(k.sizes.Load().plan.Wait)
	if until.Before(left) {
		left = until
	}
	more, err := k.gate.EnterBy(s.caller, left)
	s.waited += more
	if err != nil {
		k.streams.Leave()
		return k.turnedAway(s.caller, s.waited, err, k.refused)
	}
	return nil
}

// open opens the stream, which has its place, within a time.
func (s *stream) open(desc *grpc.StreamDesc, opening *bound, lifetime time.Duration, options []grpc.CallOption) (grpc.ClientStream, error) {
	a := s.attempt
	k := a.core
	k.queued(s.caller, s.waited)
	a.entered = time.Now()
	a.due = &bound{PhaseLifetime, lifetime}
	ctx, expire := context.WithDeadlineCause(k.inject(s.caller), a.entered.Add(lifetime), a.due)
	s.expire = expire
	a.Context, s.cancel = context.WithCancelCause(ctx)
	s.channel = k.channel()
	s.channel.calls.Add(1)
	a.cold = k.cold(s.channel)
	opened, err := false, errPanicked
	defer func() {
		if !opened {
			s.end(err)
		}
	}()
	options = append(options[:len(options):len(options)], grpc.OnFinish(s.closed))
	timer := time.AfterFunc(opening.limit, func() { s.cancel(opening) })
	raw, err := s.channel.NewStream(a, desc, s.method, options...)
	if !timer.Stop() && err == nil {
		err = opening // and the stream ends with its context
	}
	if err != nil {
		err = s.explain(err)
		return nil, err
	}
	a.mark(markSent)
	k.telemetry.ConnectWait(a.waited())
	opened = true
	s.ClientStream = raw
	context.AfterFunc(a, s.expired)
	return s, nil
}

// expired ends a stream whose context has ended, whoever ended it.
func (s *stream) expired() {
	s.ended.Do(func() { s.leave(s.explain(status.FromContextError(s.attempt.Err()).Err())) })
}

// closed is told by grpc-go that a stream is over. It is the end if all are, with
// the client.
func (s *stream) closed(err error) {
	k := s.attempt.core
	s.cut.Store(err == nil && k.balancing.own && !s.attempt.has(markReceived))
	if k.pool.over() {
		s.end(s.explain(err))
	}
}

// explain is what the caller sees of an error.
func (s *stream) explain(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	if b, ok := errors.AsType[*bound](err); ok {
		return s.attempt.core.timeoutError(b, s.attempt.stage())
	}
	return s.attempt.explain(s.caller, err)
}

// end gives the place back, once, whatever ended the stream. Whoever comes second
// finds it back.
func (s *stream) end(err error) { s.ended.Do(func() { s.leave(err) }) }

func (s *stream) leave(err error) {
	if errors.Is(err, io.EOF) {
		err = nil
	}
	k := s.attempt.core
	k.gate.Leave()
	k.streams.Leave()
	s.channel.calls.Add(-1)
	now := time.Now()
	k.flow.Held(now, now.Sub(s.attempt.entered))
	o := outcomeOf(err)
	k.telemetry.Attempt(o)
	if o.Pays() {
		k.budget.Success(now)
	}
	s.settle(now, err)
	s.expire()
}

// settle records the stream.
func (s *stream) settle(now time.Time, err error) {
	k := s.attempt.core
	o, took := outcomeOf(err), now.Sub(s.start)
	if err != nil {
		k.telemetry.Failed(o, now, err)
	}
	k.telemetry.Call(s.caller, s.kind, 0, o, took)
	k.rpc.Call(s.caller, s.name, o, took)
	if s.span != nil {
		k.endSpan(s.span, s.method, o, s.waited, 1)
	}
}

// RecvMsg implements grpc.ClientStream. Of a stream with one answer the second
// returns io.EOF, as grpc-go has it.
func (s *stream) RecvMsg(m any) error {
	err := s.receives.watch(s, func() error { return s.ClientStream.RecvMsg(m) })
	if err == io.EOF && !s.answered && (s.single || s.cut.Load()) {
		err = errCut
	}
	s.answered = s.answered || err == nil
	err = s.explain(err)
	if err != nil || s.single {
		s.end(err)
	}
	return err
}

// SendMsg implements grpc.ClientStream.
func (s *stream) SendMsg(m any) error {
	err := s.sends.watch(s, func() error { return s.ClientStream.SendMsg(m) })
	switch status.Code(err) {
	case codes.Internal, codes.ResourceExhausted: // what the server says comes from RecvMsg
		err = &RequestError{Upstream: s.attempt.core.name, Err: err}
	default:
		err = s.explain(err)
	}
	if err != nil && !errors.Is(err, io.EOF) { // which RecvMsg will say the reason of
		s.end(err)
	}
	return err
}

// Header implements grpc.ClientStream.
func (s *stream) Header() (md metadata.MD, err error) {
	var w watchdog
	err = w.watch(s, func() error {
		md, err = s.ClientStream.Header()
		return err
	})
	if err = s.explain(err); err != nil {
		s.end(err)
	}
	return md, err
}

// watchdog ends a stream while its caller waits for it and nothing happens. The
// time in which the caller does something else is not counted. One goroutine at a
// time may receive, and one send, so that there is one for each.
type watchdog struct{ timer *time.Timer }

// watch runs what may take long. A codec or an interceptor of the user's that panics
// in it ends the stream: nobody would close it, and it would hold its place for its
// whole lifetime.
func (w *watchdog) watch(s *stream, call func() error) error {
	if w.timer == nil {
		w.timer = time.AfterFunc(s.idle.limit, func() { s.cancel(&s.idle) })
	} else {
		w.timer.Reset(s.idle.limit)
	}
	returned := false
	defer func() {
		w.timer.Stop()
		if !returned {
			s.end(errPanicked)
			s.cancel(errPanicked)
		}
	}()
	err := call()
	returned = true
	return err
}
