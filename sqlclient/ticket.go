package sqlclient

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/offtake-go/offtake/guard"
)

// ticket is a place on its way to a connection, and back. It is given back when the
// call has returned and the connection is free again, whichever is later:
// database/sql may go through several connections before a call returns, and keeps
// the last one for rows and transactions after it has.
type ticket struct {
	place *guard.Place
	start time.Time // when the place was had
	until time.Time

	mu       sync.Mutex
	held     bool // by a connection
	returned bool
	err      error
}

type ticketKey struct{}

func ticketOf(ctx context.Context) *ticket {
	t, _ := ctx.Value(ticketKey{}).(*ticket)
	return t
}

// hold says that a connection has the ticket, and false if it is spent.
func (t *ticket) hold() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.returned {
		return false
	}
	t.held = true
	return true
}

// release says that the connection is free.
func (t *ticket) release() {
	t.mu.Lock()
	t.held = false
	over := t.returned
	t.mu.Unlock()
	if over {
		_ = t.end() // its error was the call's, which has returned
	}
}

// finish says that the call has returned, and returns its error as the caller
// should see it.
func (t *ticket) finish(err error) error {
	t.mu.Lock()
	t.returned = true
	t.err = err
	over := !t.held || err != nil
	t.mu.Unlock()
	if over {
		return t.end()
	}
	return err
}

func (t *ticket) end() error {
	return t.place.Done(t.err)
}

// panicked gives the place back if the driver panics.
func (t *ticket) panicked() {
	t.mu.Lock()
	ended := t.returned
	t.mu.Unlock()
	if !ended {
		_ = t.finish(errPanic)
	}
}

var errPanic = errors.New("sqlclient: the driver panicked")
