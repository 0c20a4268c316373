package fleet

import (
	"context"

	"github.com/offtake-go/offtake/capacity"
)

// A Source follows this replica's part of a limit that all replicas have
// together. One Source is for one client in one process. Implement it to take the
// part from elsewhere; [Reserve] has the arithmetic.
type Source interface {
	// Floor is the plan to build the client with: what this replica may use while
	// it knows nothing about the others.
	Floor() capacity.Plan

	// Follow calls resize with each new plan, from its own goroutine, until ctx is
	// done. Then it goes back to the floor, gives back what it can, and returns
	// context.Cause(ctx). An error of resize ends it in the same way and is returned,
	// wrapped. The client must have the plan of Floor when Follow is called, and
	// Follow must be called once.
	//
	// use, which may be nil, says what the client uses now. A source that shares by
	// demand needs it to know the demand, and to give places back as soon as they
	// are free rather than when they must be. It is called from Follow's goroutine.
	Follow(ctx context.Context, resize func(capacity.Plan) error, use func() Use) error

	// Status is for people, and may be read from any goroutine.
	Status() Status
}

// Use is what a client uses at one instant. Stats of every client here has both:
//
//	func() fleet.Use { s := client.Stats(); return fleet.Use{InFlight: s.InFlight, Waiting: s.Queued} }
type Use struct {
	InFlight int // calls that hold a place
	Waiting  int // calls that wait for one
}

// Status is a source at one instant.
type Status struct {
	Places   int   // the client has now
	Floor    int   // of them are this replica's in any case
	Replicas int   // are known to share the limit, this one included; 0 is unknown
	Err      error // why the last question was not answered, or nil
}
