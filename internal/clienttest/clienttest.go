// Package clienttest holds the behaviours that every client of this module must
// have, whatever its protocol, as tests to run against each.
package clienttest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/offtake-go/offtake/capacity"
)

// Subject is a kind of client under test.
type Subject struct {
	// Open starts a server and returns a client of it. It is called in a
	// testing/synctest bubble, so both speak over internal/pipenet, and ends what
	// it starts with t.Cleanup.
	Open func(t *testing.T, s Setup) Client
}

// Setup is what a behaviour needs of its client and server.
type Setup struct {
	Plan capacity.Plan

	// Handle serves one call. A nil error is a plain success; any other is a
	// failure that the client must not repeat. The context ends with the call.
	Handle func(ctx context.Context) error

	// Before, if set, runs in the client for each attempt that holds a place, just
	// before the attempt is sent. It may panic.
	Before func()
}

// Client is a client of the kind under test, as far as the behaviours use it.
type Client struct {
	// Call makes one call that must not be repeated, up to the end of its answer.
	Call func(ctx context.Context) error

	// Load is how many calls hold a place and how many wait for one.
	Load func() (inFlight, queued int)

	Resize   func(capacity.Plan) error
	Shutdown func(context.Context) error
	Close    func() error
}

// Run runs all behaviours.
func Run(t *testing.T, s Subject) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { b.test(t, s) })
		})
	}
}

// behaviours is the table. Each name is a sentence about a client.
var behaviours = []struct {
	name string
	test func(*testing.T, Subject)
}{
	{"refuses when places and queue are full", refusesWhenFull},
	{"refuses at once without a queue", refusesWithoutQueue},
	{"refuses when the wait is over", refusesAfterWait},
	{"sends nothing for a refused call", sendsNothingWhenRefused},
	{"serves first who came first", servesInOrder},
	{"lets the context win in the queue", contextWinsInQueue},
	{"lets the context win in flight", contextWinsInFlight},
	{"lets the shorter deadline win", shorterDeadlineWins},
	{"sends nothing for a context that is over", sendsNothingWithoutTime},
	{"gives the place back after an error", placeBackAfterError},
	{"gives the place back after a panic", placeBackAfterPanic},
	{"hands on new places at once", resizeHandsOn},
	{"keeps its plan when given a wrong one", resizeRefusesMistakes},
	{"waits for those inside and queued when it shuts down", shutdownWaits},
	{"stops waiting for them when the context ends", shutdownObeysContext},
	{"refuses those who wait when it closes", closeRefusesQueued},
	{"may be closed twice", closesTwice},
}
