package sqlclient

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/guard"
	"github.com/offtake-go/offtake/internal/telemetry"
)

// DB calls one database. It is a *sql.DB: what is not a method of DB goes around
// the queue. Its methods have the signatures of *sql.DB, so that it is what sqlc and
// most ORMs ask for.
//
// Make one with [New], one for each database, and share it: all methods may be
// called from any goroutine. Whoever makes a DB closes it.
type DB struct {
	*sql.DB
	guard     *guard.Guard
	connector *connector
	telemetry *telemetry.SQL
	plan      atomic.Pointer[capacity.Plan]
}

// New returns a client of the database that connector leads to, with the sizes of
// plan. Streams must be 1: a connection carries one statement. It does no I/O; call
// [DB.Warm] to fill its pool. Its one goroutine is that of sql.OpenDB, which Close
// ends. It returns every mistake of its arguments at once.
func New(connectTo driver.Connector, plan capacity.Plan, options *Options) (*DB, error) {
	o, optionsErr := options.resolve()
	resolved, planErr := plan.Resolve()
	if err := errors.Join(checkConnector(connectTo), planErr, check(resolved), optionsErr); err != nil {
		return nil, fmt.Errorf("sqlclient: %w", err)
	}
	db := &DB{connector: newConnector(connectTo, o)}
	db.plan.Store(&resolved)
	db.connector.db = db
	var err error
	db.guard, err = guard.New(resolved, &guard.Options{
		Name: o.Name, Observe: o.Observe, Registerer: o.Registerer, TracerProvider: o.TracerProvider,
		Connections: db.connector.count,
		Blameless: func(err error) bool {
			return errors.Is(err, sql.ErrNoRows) || errors.Is(err, sql.ErrTxDone) || o.Blameless != nil && o.Blameless(err)
		},
	})
	if err != nil {
		return nil, fmt.Errorf("sqlclient: %w", err)
	}
	if db.telemetry, err = telemetry.NewSQL(o.Name, o.Registerer, db.closed); err != nil {
		return nil, errors.Join(fmt.Errorf("sqlclient: Options.%w", err), db.guard.Close())
	}
	db.DB = sql.OpenDB(db.connector)
	db.size(resolved)
	return db, nil
}

func checkConnector(c driver.Connector) error {
	if c == nil {
		return errors.New("connector: it is nil; a driver's NewConnector returns one, as stdlib.GetConnector of pgx does")
	}
	return nil
}

// check is for what a database can't have of a plan.
func check(p capacity.Plan) error {
	if p.Streams > 1 {
		return fmt.Errorf("Plan.Streams: %d is not 1: a connection of a database carries one statement at a time", p.Streams)
	}
	return nil
}

// size hands the plan to the pool. The lifetime there is the outer bound, for
// connections that nobody takes: each has its own, shorter one.
func (db *DB) size(p capacity.Plan) {
	o := db.connector.options
	db.SetMaxOpenConns(p.Connections)
	db.SetMaxIdleConns(p.Connections) // the default is 2, and closes the others after each crowd
	db.SetConnMaxLifetime(o.MaxAge + o.MaxAge/10)
	db.SetConnMaxIdleTime(o.Idle)
}

// Underlying returns the driver's own connection for the one that sql.Conn.Raw
// gives, for what only the driver has: pgx's CopyFrom.
func Underlying(driverConn any) any {
	if c, ok := baseOf(driverConn); ok {
		return c.Conn
	}
	return driverConn
}

// enter waits for a place, and returns it as a ticket in a context with its time.
func (db *DB) enter(ctx context.Context) (context.Context, *ticket, error) {
	p, err := db.guard.Take(ctx)
	if err != nil {
		return nil, nil, err
	}
	t := &ticket{place: p, start: time.Now()}
	t.until, _ = p.Context().Deadline()
	// The context of the place ends with the place, which is when the rows, the
	// transaction or the Conn is over.
	return context.WithValue(p.Context(), ticketKey{}, t), t, nil
}
