package sqlclient

import (
	"context"
	"database/sql/driver"
)

// stmt is a prepared statement of the driver, with an end for each use.
type stmt struct {
	driver.Stmt
	conn *conn
}

// converting is a stmt of a driver with a ColumnConverter, whose mere presence
// changes what database/sql does.
type converting struct {
	*stmt
	columns driver.ColumnConverter //nolint:staticcheck // old drivers have it
}

// ColumnConverter implements driver.ColumnConverter.
func (s converting) ColumnConverter(i int) driver.ValueConverter { return s.columns.ColumnConverter(i) }

func (c *conn) wrap(inner driver.Stmt) driver.Stmt {
	s := &stmt{inner, c}
	if cc, ok := inner.(driver.ColumnConverter); ok { //nolint:staticcheck // old drivers have it
		return converting{s, cc}
	}
	return s
}

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	ctx, cancel := s.conn.bound(ctx)
	defer cancel()
	if e, ok := s.Stmt.(driver.StmtExecContext); ok {
		return e.ExecContext(ctx, args)
	}
	values, err := unnamed(args)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return s.Stmt.Exec(values) //nolint:staticcheck // old drivers have nothing else
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	ctx, cancel := s.conn.bound(ctx)
	s.conn.keep(cancel)
	if q, ok := s.Stmt.(driver.StmtQueryContext); ok {
		return q.QueryContext(ctx, args)
	}
	values, err := unnamed(args)
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return s.Stmt.Query(values) //nolint:staticcheck // old drivers have nothing else
}

// CheckNamedValue implements driver.NamedValueChecker. Without one of the
// statement's own, database/sql asks the connection.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error {
	if n, ok := s.Stmt.(driver.NamedValueChecker); ok {
		return n.CheckNamedValue(v)
	}
	return s.conn.CheckNamedValue(v)
}
