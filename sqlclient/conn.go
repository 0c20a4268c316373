package sqlclient

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"
)

// conn is a connection of the driver as database/sql sees it: it is told here when
// the connection is taken and when it is free again, which database/sql itself tells
// nobody.
//
// It has every optional interface but two, and answers for one that the driver lacks as
// database/sql would do without: see facade for those two. database/sql has one call at a time on it.
type conn struct {
	driver.Conn
	of      *connector
	expires time.Time
	since   time.Time // when it came into the stash

	taken      time.Time // zero while it is free
	ticket     *ticket   // nil around the queue
	tx         context.Context
	statements []context.CancelFunc // of contexts that end with the hold
}

// take notes that somebody has the connection.
func (c *conn) take(ctx context.Context) {
	t := ticketOf(ctx)
	if c.taken.IsZero() {
		c.taken = time.Now()
		c.of.inUse.Add(1)
	}
	if t != nil && c.ticket == nil && t.hold() {
		c.ticket = t
		c.of.db.telemetry.ConnectionWait(c.taken.Sub(t.start))
	}
}

// release notes that it is free.
func (c *conn) release() {
	if c.taken.IsZero() {
		return
	}
	c.of.db.telemetry.Held(time.Since(c.taken))
	c.of.inUse.Add(-1)
	for _, cancel := range c.statements {
		cancel()
	}
	t := c.ticket
	c.taken, c.ticket, c.tx, c.statements = time.Time{}, nil, nil, nil
	if t == nil {
		c.of.around.Add(1)
		return
	}
	t.release()
}

// bound gives a statement an end. One with a ticket has that of its place; in a
// transaction with a ticket it has the transaction's; around the queue its own.
func (c *conn) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	c.take(ctx)
	return context.WithDeadline(ctx, c.until())
}

func (c *conn) until() time.Time {
	if c.ticket != nil {
		return c.ticket.until
	}
	return time.Now().Add(c.of.db.plan.Load().Once)
}

// keep has a context end with the hold: that of rows must outlive the call.
func (c *conn) keep(cancel context.CancelFunc) { c.statements = append(c.statements, cancel) }

// Ping implements driver.Pinger.
func (c *conn) Ping(ctx context.Context) error {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if p, ok := c.Conn.(driver.Pinger); ok {
		return p.Ping(ctx)
	}
	return nil
}

// exec is driver.ExecerContext's ExecContext.
func (c *conn) exec(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	if e, ok := c.Conn.(driver.ExecerContext); ok {
		return e.ExecContext(ctx, query, args)
	}
	e, ok := c.Conn.(driver.Execer) //nolint:staticcheck // old drivers have nothing else
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := unnamed(args)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return e.Exec(query, values)
}

// query is driver.QueryerContext's QueryContext.
func (c *conn) query(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	ctx, cancel := c.bound(ctx)
	c.keep(cancel)
	if q, ok := c.Conn.(driver.QueryerContext); ok {
		return q.QueryContext(ctx, query, args)
	}
	q, ok := c.Conn.(driver.Queryer) //nolint:staticcheck // old drivers have nothing else
	if !ok {
		return nil, driver.ErrSkip
	}
	values, err := unnamed(args)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return q.Query(query, values)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	ctx, cancel := c.bound(ctx)
	defer cancel()
	var inner driver.Stmt
	var err error
	if p, ok := c.Conn.(driver.ConnPrepareContext); ok {
		inner, err = p.PrepareContext(ctx, query)
	} else if inner, err = c.Conn.Prepare(query); err == nil && ctx.Err() != nil {
		err = errors.Join(ctx.Err(), inner.Close())
	}
	if err != nil {
		return nil, err
	}
	return c.wrap(inner), nil
}

// BeginTx implements driver.ConnBeginTx. A driver may use its context again to
// commit, so that it ends with the hold and not with this call.
func (c *conn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	c.take(ctx)
	c.tx = ctx
	ctx, cancel := context.WithCancel(ctx)
	c.keep(cancel)
	defer time.AfterFunc(time.Until(c.until()), cancel).Stop()
	if b, ok := c.Conn.(driver.ConnBeginTx); ok {
		return b.BeginTx(ctx, options)
	}
	if options.Isolation != 0 {
		return nil, errors.New("sql: driver does not support non-default isolation level")
	}
	if options.ReadOnly {
		return nil, errors.New("sql: driver does not support read-only transactions")
	}
	tx, err := c.Conn.Begin() //nolint:staticcheck // old drivers have nothing else
	if err == nil && ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), tx.Rollback())
	}
	return tx, err
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := c.Conn.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

// ResetSession implements driver.SessionResetter: somebody takes the connection from
// the pool.
func (c *conn) ResetSession(ctx context.Context) error {
	err := c.reset(ctx)
	if !errors.Is(err, driver.ErrBadConn) {
		c.take(ctx)
	}
	return err
}

func (c *conn) reset(ctx context.Context) error {
	r, ok := c.Conn.(driver.SessionResetter)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithDeadline(ctx, c.until())
	defer cancel()
	return r.ResetSession(ctx)
}

// IsValid implements driver.Validator: the connection goes back to the pool.
func (c *conn) IsValid() bool {
	valid := true
	v, validates := c.Conn.(driver.Validator)
	if validates {
		valid = v.IsValid()
	}
	if _, resets := c.Conn.(driver.SessionResetter); !resets || !validates {
		// database/sql keeps a connection whose transaction was cut off only with a
		// driver that has both of these.
		valid = valid && (c.tx == nil || c.tx.Err() == nil)
	}
	if valid && time.Now().After(c.expires) {
		c.of.aged.Add(1)
		valid = false
	}
	c.release()
	return valid
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	c.release()
	err := c.Conn.Close()
	c.of.closed()
	return err
}

// unnamed is for drivers that know no names.
func unnamed(args []driver.NamedValue) ([]driver.Value, error) {
	values := make([]driver.Value, len(args))
	for i, a := range args {
		if a.Name != "" {
			return nil, errors.New("sql: driver does not support the use of Named Parameters")
		}
		values[i] = a.Value
	}
	return values, nil
}
