package grpcclient

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/offtake-go/offtake"
)

// WarmError says how far warming came, and why not further.
type WarmError struct {
	Upstream  string
	Want, Got int   // connections
	Err       error // what went wrong, joined
}

// Error names the counts and the causes.
func (e *WarmError) Error() string {
	return fmt.Sprintf("grpcclient: %s: %d of %d connections are warm: %v", e.Upstream, e.Got, e.Want, e.Err)
}

// Unwrap returns the causes.
func (e *WarmError) Unwrap() error { return e.Err }

// warmRounds is how often Options.Warm is called on each connection. The first call
// on a new one takes three to four times as long as the third.
const warmRounds = 3

// Warm connects, waits until Plan.Warm connections are ready, or one to each address
// if that is more, and returns nil only if they are, their streams are enough for
// the plan's places, and Options.Warm, if set, has succeeded on each. It tries each
// connection once, and then returns what is wrong with those that are not there: it
// is for the caller to call it again. Warm may be called again. Its error is a
// [*WarmError]; once the connection is closed, also during Warm, it wraps
// offtake.ErrClosed.
//
// Warm does not ask the channel's state: grpc-go calls a channel ready when the
// first of its connections is.
func (c *Conn) Warm(ctx context.Context) error {
	k, err := c.alive()
	if err != nil {
		return err
	}
	for _, ch := range k.channels {
		ch.Connect()
	}
	if !k.balancing.own {
		return k.warmChannels(ctx)
	}
	for {
		v := k.pool.view()
		want := k.want(v.total)
		switch {
		case v.closed:
			return &WarmError{k.name, want, 0, offtake.ErrClosed}
		case v.total > 0 && v.ready >= want:
			if err := v.fits(k.sizes.Load().plan.InFlight); err != nil {
				return &WarmError{k.name, want, v.ready, err}
			}
			return c.warmCalls(ctx, want)
		case v.total == 0 && v.err != nil, v.total > 0 && v.ready+v.failed == v.total:
			return &WarmError{k.name, want, v.ready, v.err}
		}
		select {
		case <-v.changed:
		case <-ctx.Done():
			return &WarmError{k.name, want, v.ready, errors.Join(context.Cause(ctx), v.err)}
		}
	}
}

// want is how many connections must be ready, of so many. A plan whose Warm is all
// of its connections means all there are, also if each of many addresses has one.
func (c *core) want(total int) int {
	p := c.sizes.Load().plan
	if p.Warm == p.Connections {
		return max(total, p.Warm)
	}
	if total == 0 {
		return p.Warm
	}
	return min(p.Warm, total)
}

// warmCalls calls the user's function on each connection that is ready.
func (c *Conn) warmCalls(ctx context.Context, want int) error {
	k := c.core
	if k.options.Warm == nil {
		return nil
	}
	warm := 0
	var errs []error
	for _, l := range k.readyLinks() {
		var err error
		for range warmRounds {
			if err = k.warmCall(ctx, l); err != nil {
				errs = append(errs, fmt.Errorf("%s: Options.Warm: %w", l.address, err))
				break
			}
		}
		if err == nil {
			warm++
		}
	}
	if warm < want {
		if k.pool.over() {
			errs = append(errs, offtake.ErrClosed)
		}
		return &WarmError{k.name, want, warm, errors.Join(errs...)}
	}
	return nil
}

// warmCall calls the user's function. What panics in it, or in a call that it makes, is
// an error: Warm runs where nobody recovers, and a check must not end the process.
func (c *core) warmCall(ctx context.Context, l *link) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.options.Warm(ctx, &pinnedConn{c, l})
}

func (c *core) readyLinks() []*link {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	var ready []*link
	for l := range c.pool.linksLocked() {
		if l.state == connectivity.Ready {
			ready = append(ready, l)
		}
	}
	return ready
}

// pinnedConn is a connection whose calls go out on one link.
type pinnedConn struct {
	core *core
	link *link
}

// Invoke implements grpc.ClientConnInterface.
func (p *pinnedConn) Invoke(ctx context.Context, method string, args, reply any, options ...grpc.CallOption) error {
	return p.core.invoke(ctx, p.link, method, args, reply, options)
}

// NewStream implements grpc.ClientConnInterface.
func (p *pinnedConn) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, options ...grpc.CallOption) (grpc.ClientStream, error) {
	return p.core.newStream(ctx, p.link, desc, method, options)
}

// warmChannels waits for channels whose policy is not ours, as far as they tell.
func (c *core) warmChannels(ctx context.Context) error {
	want := min(c.sizes.Load().plan.Warm, len(c.channels))
	for _, ch := range c.channels {
		for s := ch.GetState(); s != connectivity.Ready; s = ch.GetState() {
			if c.open() >= want {
				return nil
			}
			if s == connectivity.Shutdown {
				return &WarmError{c.name, want, 0, offtake.ErrClosed}
			}
			if s == connectivity.TransientFailure || !ch.WaitForStateChange(ctx, s) {
				err := c.pool.view().err
				if err == nil {
					err = fmt.Errorf("a channel is in the state %v, and grpc-go says no more", s)
				}
				return &WarmError{c.name, want, c.open(), errors.Join(context.Cause(ctx), err)}
			}
		}
	}
	return nil
}
