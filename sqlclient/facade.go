package sqlclient

import (
	"context"
	"database/sql/driver"
)

// facade is the connection with driver.ExecerContext and QueryerContext if the driver
// has them, in either form. It is tempting to have both always, and to answer
// driver.ErrSkip for the driver; but by then database/sql has checked the arguments
// without the statement, which may convert what database/sql refuses.
func (c *conn) facade() driver.Conn {
	executes, queries := true, true
	if _, ok := c.Conn.(driver.ExecerContext); !ok {
		_, executes = c.Conn.(driver.Execer) //nolint:staticcheck // old drivers have nothing else
	}
	if _, ok := c.Conn.(driver.QueryerContext); !ok {
		_, queries = c.Conn.(driver.Queryer) //nolint:staticcheck // old drivers have nothing else
	}
	switch {
	case executes && queries:
		return struct {
			*conn
			execer
			queryer
		}{c, execer{c}, queryer{c}}
	case executes:
		return struct {
			*conn
			execer
		}{c, execer{c}}
	case queries:
		return struct {
			*conn
			queryer
		}{c, queryer{c}}
	}
	return c
}

// base is the conn in a facade.
func (c *conn) base() *conn { return c }

func baseOf(driverConn any) (*conn, bool) {
	b, ok := driverConn.(interface{ base() *conn })
	if !ok {
		return nil, false
	}
	return b.base(), true
}

// execer and queryer hold a conn each under another name, so that its methods are
// there once.
type (
	execer  struct{ with *conn }
	queryer struct{ with *conn }
)

// ExecContext implements driver.ExecerContext.
func (e execer) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return e.with.exec(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (q queryer) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return q.with.query(ctx, query, args)
}
