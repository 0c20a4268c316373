package grpcclient

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/offtake-go/offtake/internal/backoff"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// reconnectSpread is the time over which the clients of a server that went away
// come back. Without it all of them dial in the same moment, and the first thing
// that a server does after its restart is a handshake with everybody at once.
// grpc-go's own backoff has no jitter on its first pause.
const reconnectSpread = time.Second

// hastySpread is the same where calls wait and the server has sent the connection
// away soon after it came: short enough for the calls, and long enough that a server
// which does so with each is not dialed as fast as it answers.
const hastySpread = 100 * time.Millisecond

// dialer connects for grpc-go.
type dialer struct {
	core *core
	dial func(ctx context.Context, address string) (net.Conn, error)
}

func newDialer(c *core) *dialer {
	d := &dialer{core: c, dial: sound(c.options.Dial)}
	if c.options.Dial == nil {
		tcp := &net.Dialer{Timeout: c.options.Connect}
		d.dial = func(ctx context.Context, address string) (net.Conn, error) {
			network := "tcp"
			if path, ok := strings.CutPrefix(address, "unix:"); ok {
				network, address = "unix", strings.TrimPrefix(path, "//")
			} else if strings.HasPrefix(address, "\x00") { // an abstract socket
				network = "unix"
			}
			return tcp.DialContext(ctx, network, address)
		}
	}
	return d
}

// sound is a dial of the user's that panics, or returns nothing, as one that failed.
// It runs on a goroutine of grpc-go's, where nobody could recover.
func sound(dial func(context.Context, string) (net.Conn, error)) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, address string) (conn net.Conn, err error) {
		defer func() {
			if r := recover(); r != nil {
				conn, err = nil, fmt.Errorf("Options.Dial: panic: %v", r)
			}
		}()
		conn, err = dial(ctx, address)
		if conn == nil && err == nil {
			err = errors.New("Options.Dial: it has returned neither a connection nor an error")
		}
		return conn, err
	}
}

// connect is what grpc-go calls.
func (d *dialer) connect(ctx context.Context, address string) (net.Conn, error) {
	l := linkOf(ctx)
	if l == nil {
		return d.watched(ctx, address)
	}
	goodbye := l.away.Swap(false)
	if l.back.Swap(false) {
		if err := backoff.Sleep(ctx, l.turn(goodbye)); err != nil {
			return nil, err
		}
	}
	l.began()
	conn, err := d.dial(ctx, address)
	if goodbye && !l.brief.Load() {
		conn, err = d.again(ctx, address, conn, err)
	}
	if err != nil {
		err := &dialError{address: address, err: err}
		l.failed(err)
		return nil, err
	}
	return conn, nil
}

// again dials a few times more, if a server that took its leave in good order has not
// come back yet: one that restarts is there after some milliseconds, and grpc-go has
// calls fail for half a second after the first dial that does.
func (d *dialer) again(ctx context.Context, address string, conn net.Conn, err error) (net.Conn, error) {
	for n := 1; err != nil && n <= restartDials; n++ {
		if backoff.Sleep(ctx, restartPause.Pause(n)) != nil {
			return nil, err
		}
		conn, err = d.dial(ctx, address)
	}
	return conn, err
}

// restartDials in restartPause are at the most 0.6 s, which is less than an attempt has
// as a rule: calls wait for it.
const restartDials = 5

var restartPause = backoff.Exponential{Base: 20 * time.Millisecond, Cap: 320 * time.Millisecond}

// turn is how long the link waits for its turn among those that come back. One whose
// server took its leave in good order has no time to lose, unless others are there, or
// the server does so soon after each greeting.
func (l *link) turn(goodbye bool) time.Duration {
	p := l.filler.pool
	switch {
	case !goodbye || p.ready.Load() > 0:
		return rand.N(reconnectSpread)
	case l.brief.Load() && p.core.gate.Snapshot().InFlight == 0:
		return rand.N(reconnectSpread)
	case l.brief.Load():
		return rand.N(hastySpread)
	}
	return 0
}

// watched dials for a channel whose policy is not ours.
func (d *dialer) watched(ctx context.Context, address string) (net.Conn, error) {
	began := time.Now()
	conn, err := d.dial(ctx, address)
	if err != nil {
		err := &dialError{address: address, err: err}
		d.core.telemetry.Dial(err.outcome(), time.Since(began))
		d.core.telemetry.Failed(err.outcome(), time.Now(), err)
		d.core.pool.fail(err)
		return nil, err
	}
	d.core.telemetry.Dial(telemetry.Status2xx, time.Since(began))
	d.core.pool.fail(nil)
	return conn, nil
}
