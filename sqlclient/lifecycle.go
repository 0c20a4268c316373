package sqlclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/guard"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// Warm opens connections until Plan.Warm stand, and pings each. It takes nobody's
// place. Once it has succeeded, connections that close are replaced until Close.
func (db *DB) Warm(ctx context.Context) error {
	if err := db.guard.Warm(ctx); err != nil { // closed
		return err
	}
	err := db.connector.fill(ctx)
	db.connector.warmer.settle(err)
	if err != nil {
		return fmt.Errorf("sqlclient: %s: warm: %w", db.connector.options.Name, err)
	}
	return nil
}

// Stats is a client at one instant: its places, and its connections.
type Stats struct {
	guard.Stats
	Open   int    `json:"open"`   // connections
	Idle   int    `json:"idle"`   // of them, held by nobody
	Around uint64 `json:"around"` // holds of a connection without a place, since New
}

// Usage reads the client. Stats is that of *sql.DB.
func (db *DB) Usage() Stats {
	idle, active := db.connector.count()
	return Stats{Stats: db.guard.Stats(), Open: idle + active, Idle: idle, Around: db.connector.around.Load()}
}

// Failures are the last errors of the database, the latest first.
func (db *DB) Failures() []offtake.Failure { return db.guard.Failures() }

// Observe switches observe mode: see guard.Guard.Observe. The pool keeps its size.
func (db *DB) Observe(on bool) { db.guard.Observe(on) }

// Resize gives the client another plan while it is in use. Calls in flight keep the
// times they began with. A plan with mistakes changes nothing.
func (db *DB) Resize(plan capacity.Plan) error {
	resolved, err := plan.Resolve()
	if err = errors.Join(err, check(resolved)); err != nil {
		return fmt.Errorf("sqlclient: %s: %w", db.connector.options.Name, err)
	}
	db.plan.Store(&resolved)
	db.size(resolved)
	db.connector.drop(false)
	return db.guard.Resize(resolved)
}

// Shutdown refuses new calls with offtake.ErrClosed and waits until those with a
// place, or in the queue, are done, rows and transactions included; then it closes
// the client. If ctx ends first, it returns context.Cause(ctx) and leaves the client
// draining.
func (db *DB) Shutdown(ctx context.Context) error {
	if err := db.guard.Shutdown(ctx); err != nil {
		return err
	}
	return db.Close()
}

// Close refuses new calls and those that wait, closes the connections, those in use
// as they come back, and takes the metrics off the registry. It may be called again.
func (db *DB) Close() error {
	err := db.guard.Close()
	db.connector.warmer.stop()
	db.connector.drop(true)
	db.telemetry.Close()
	return errors.Join(err, db.DB.Close())
}

// closed is what the metrics show of database/sql's own counters.
func (db *DB) closed() telemetry.SQLState {
	s, c := db.DB.Stats(), db.connector
	state := telemetry.SQLState{
		Around: c.around.Load(), PoolWaits: uint64(max(0, s.WaitCount)), PoolWaited: s.WaitDuration,
		Closed: map[string]uint64{
			"age":     c.aged.Load() + uint64(s.MaxLifetimeClosed),
			"idle":    c.idled.Load() + uint64(s.MaxIdleTimeClosed),
			"surplus": uint64(s.MaxIdleClosed),
		},
	}
	broken := c.ended.Load()
	for _, n := range state.Closed {
		broken -= min(n, broken)
	}
	state.Closed["broken"] = broken
	return state
}
