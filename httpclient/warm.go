package httpclient

import (
	"context"
	"fmt"
)

// WarmError says how far warming came, and why not further.
type WarmError struct {
	Upstream  string
	Want, Got int   // connections
	Err       error // what went wrong, joined
}

// Error names the counts and the causes.
func (e *WarmError) Error() string {
	return fmt.Sprintf("httpclient: %s: %d of %d connections are warm: %v", e.Upstream, e.Got, e.Want, e.Err)
}

// Unwrap returns the causes.
func (e *WarmError) Unwrap() error { return e.Err }

// Warm opens connections until Plan.Warm of them stand, and returns nil only if
// they do. With Options.WarmPath each that it opens has answered a request. By
// default it dials, through a proxy and with TLS, and sends nothing: what it proves
// is that the upstream accepts connections, and has not closed them a moment later.
// The first is opened alone: if the upstream is not there, it is asked once.
//
// Warm tries once. It may be called again, and then adds what is missing; after
// a failure it first pauses, longer each time, so that to call it in a loop does
// no harm. Its error is a [*WarmError].
//
// Once warm, the client stays so: it replaces what the upstream closes at once,
// and what Options.Idle would close before it does.
func (c *Client) Warm(ctx context.Context) error {
	core, err := c.alive()
	if err != nil {
		return err
	}
	want := core.plan.Load().Warm
	got, err := core.pool.Warm(ctx, want)
	if err != nil {
		return &WarmError{Upstream: core.name, Want: want, Got: got, Err: dialFailed(err)}
	}
	return nil
}
