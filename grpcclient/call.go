package grpcclient

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/offtake-go/offtake/internal/backoff"
	"github.com/offtake-go/offtake/internal/incoming"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// call is one unary call of a user: its attempts, one after the other.
type call struct {
	core     *core
	sizes    *sizes
	own      *Method
	pinned   *link           // it must go on this one, if not nil
	ctx      context.Context // the caller's, with the span
	span     trace.Span      // nil without anybody to see it
	method   string
	args     any
	reply    any
	options  []grpc.CallOption
	start    time.Time
	deadline time.Time
	attempts int
	earlier  error // how the attempt before ended
}

// Invoke implements grpc.ClientConnInterface: one unary call, with its queueing and
// its attempts. Options that hear of an end, as grpc.OnFinish and grpc.Trailer, hear
// of each attempt's.
func (c *Conn) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	return core.invoke(ctx, nil, method, args, reply, options)
}

func (c *core) invoke(ctx context.Context, pinned *link, method string, args, reply any, options []grpc.CallOption) error {
	l := call{
		core: c, sizes: c.sizes.Load(), own: c.methods.of(method), pinned: pinned,
		method: method, args: args, reply: reply, options: options,
		start: time.Now(),
	}
	l.deadline = l.start.Add(l.longest())
	l.ctx, l.span = c.tracer.Start(ctx, spanName(method))
	waited, err := c.enter(l.ctx, l.deadline)
	if err != nil {
		return l.settle(time.Now(), waited, err)
	}
	l.ctx = c.inject(l.ctx)
	return l.run(waited)
}

// longest bounds the whole call.
func (l *call) longest() time.Duration {
	if l.own.Deadline > 0 {
		return l.own.Deadline
	}
	return l.sizes.plan.Deadline
}

// each bounds one attempt: one that no other may follow has all the time. A method
// with a deadline of its own has attempts in the proportion of capacity.Plan: nine
// tenths of it for all of them.
func (l *call) each() time.Duration {
	if l.own.Attempt > 0 {
		return l.own.Attempt
	}
	again := l.repeatable()
	switch {
	case l.own.Deadline == 0:
		return l.sizes.plan.AttemptOf(again)
	case again:
		return l.own.Deadline / 10 * 9 / time.Duration(l.sizes.plan.Attempts)
	}
	return l.own.Deadline / 10 * 9
}

// repeatable says whether an attempt that the server may have begun with can be
// followed by another.
func (l *call) repeatable() bool {
	return (len(l.own.Retry) > 0 || l.sizes.plan.Idempotent) && incoming.Attempt(l.ctx) <= 1
}

// run sends attempts until one is good enough, or nothing more may be tried. It
// begins with a place.
func (l *call) run(waited time.Duration) error {
	for {
		l.attempts++
		a := &attempt{core: l.core, pinned: l.pinned}
		ended, err := l.send(a, waited)
		if err == nil {
			return l.settle(ended, waited, nil)
		}
		pause, again := l.again(a, ended, err)
		if !again {
			return l.settle(ended, waited, err)
		}
		l.earlier = err
		if backoff.Sleep(l.ctx, pause) != nil { // without a place
			return l.settle(time.Now(), waited, l.core.contextError(l.ctx, StageQueue))
		}
		if waited, err = l.core.enter(l.ctx, l.deadline); err != nil {
			return l.settle(time.Now(), waited, err)
		}
	}
}

// send sends one attempt, which has its place, and gives the place back, also if
// something panics. It returns when the attempt ended.
func (l *call) send(a *attempt, waited time.Duration) (time.Time, error) {
	c := l.core
	returned := false
	defer func() {
		if !returned {
			a.abandon()
			now := time.Now()
			a.record(now, errPanicked)
			_ = l.settle(now, waited, errPanicked)
		}
		c.gate.Leave()
	}()
	a.entered = l.start.Add(waited)
	if l.attempts > 1 {
		a.entered = time.Now()
	}
	c.queued(l.ctx, waited)
	cancel := l.bound(a)
	if cancel != nil {
		defer cancel()
	}
	ch := c.channel()
	a.cold = c.cold(ch)
	var err error
	if c.balancing.own {
		err = ch.Invoke(a, l.method, l.args, l.reply, l.options...)
	} else {
		err = l.sendElsewhere(a, ch)
	}
	if err != nil {
		err = a.explain(l.ctx, err)
	}
	now := time.Now() // one for all that is recorded: reading a clock is most of what recording costs
	a.record(now, err)
	returned = true
	return now, err
}

// bound gives the attempt its context: the caller's, or one that ends sooner.
func (l *call) bound(a *attempt) context.CancelFunc {
	ctx := l.ctx
	if l.attempts > 1 {
		ctx = metadata.AppendToOutgoingContext(ctx, previousAttempts, strconv.Itoa(l.attempts-1))
	}
	switch each := l.each(); each {
	case l.sizes.once.limit:
		a.due = &l.sizes.once
	case l.sizes.attempt.limit:
		a.due = &l.sizes.attempt
	default:
		a.due = &bound{PhaseAttempt, each}
	}
	due := a.entered.Add(a.due.limit)
	if l.deadline.Before(due) {
		due, a.due = l.deadline, &l.sizes.deadline
		if whole := l.longest(); whole != a.due.limit {
			a.due = &bound{PhaseDeadline, whole}
		}
	}
	if d, ok := ctx.Deadline(); ok && !due.Before(d) {
		a.Context = ctx
		return nil
	}
	var cancel context.CancelFunc
	a.Context, cancel = context.WithDeadlineCause(ctx, due, a.due)
	return cancel
}

// previousAttempts is gRFC A6's: how often a call was sent before.
const previousAttempts = "grpc-previous-rpc-attempts"

// sendElsewhere sends an attempt on a channel whose policy is not ours, where no
// picker of ours sees how far it comes, and what the server says about retries.
func (l *call) sendElsewhere(a *attempt, ch *channel) error {
	ch.calls.Add(1)
	defer ch.calls.Add(-1)
	var (
		trailer metadata.MD
		header  metadata.MD
		server  peer.Peer // known once there is a stream
	)
	err := ch.Invoke(a, l.method, l.args, l.reply, append(l.options[:len(l.options):len(l.options)], grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&server))...)
	if server.Addr != nil {
		a.mark(markSent)
	}
	if len(header)+len(trailer) > 0 {
		a.mark(markReceived)
	}
	if words := trailer.Get(pushbackKey); len(words) > 0 {
		a.pushback.Store(parsePushback(words))
	}
	return err
}

// record notes an attempt that is over.
func (a *attempt) record(now time.Time, err error) {
	c := a.core
	hold := now.Sub(a.entered)
	c.flow.Held(now, hold)
	o := outcomeOf(err)
	c.telemetry.Attempt(o)
	if err != nil {
		c.telemetry.Failed(o, now, err)
	}
	if o.Pays() {
		c.budget.Success(now)
	}
	if a.has(markPicked) {
		c.telemetry.ConnectWait(a.waited())
	} else if c.balancing.own {
		c.telemetry.ConnectWait(hold)
	}
	if a.has(markPicked) && !a.has(markOver) && !c.options.Diagnostics {
		c.rpc.StreamWait(0)
	}
	if l := a.link.Load(); l != nil && a.has(markSent) {
		c.telemetry.Headers(hold - a.waited())
		if o == telemetry.Timeout {
			l.silent(a.reads.Load())
		}
	}
}

// queued records the wait for a place.
func (c *core) queued(ctx context.Context, waited time.Duration) {
	c.telemetry.QueueWait(ctx, waited)
	c.rpc.QueueWait(ctx, waited)
}

// settle records the call and returns what the caller is to see.
func (l *call) settle(now time.Time, waited time.Duration, err error) error {
	if err != nil && l.attempts == 0 {
		l.core.telemetry.Failed(outcomeOf(err), now, err)
	}
	if err != nil && l.earlier != nil {
		err = &RetryError{Attempts: l.attempts, Err: err, Earlier: l.earlier}
	}
	o, took := outcomeOf(err), now.Sub(l.start)
	l.core.telemetry.Call(l.ctx, telemetry.Unary, 0, o, took)
	l.core.rpc.Call(l.ctx, ownName(l.method, l.options), o, took)
	if l.span != nil {
		l.core.endSpan(l.span, l.method, o, waited, l.attempts)
	}
	return err
}
