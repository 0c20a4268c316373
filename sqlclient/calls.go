package sqlclient

import (
	"context"
	"database/sql"
	"errors"
)

// QueryContext is that of *sql.DB, with a place that is held until the rows are
// closed.
func (db *DB) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	in, t, err := db.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer t.panicked()
	rows, err := db.DB.QueryContext(in, query, args...)
	return rows, t.finish(err)
}

// QueryRowContext is that of *sql.DB, with a place that is held until Scan.
func (db *DB) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	in, t, err := db.enter(ctx)
	if err != nil {
		return db.DB.QueryRowContext(refused{ctx, err}, query)
	}
	defer t.panicked()
	row := db.DB.QueryRowContext(in, query, args...)
	if err := t.finish(row.Err()); err != nil {
		return db.DB.QueryRowContext(refused{ctx, err}, query)
	}
	return row
}

// ExecContext is that of *sql.DB, with a place.
func (db *DB) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	in, t, err := db.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer t.panicked()
	result, err := db.DB.ExecContext(in, query, args...)
	return result, t.finish(err)
}

// BeginTx is that of *sql.DB, with a place that is held until Commit or Rollback. A
// transaction that is not over by Plan.Once is rolled back.
func (db *DB) BeginTx(ctx context.Context, options *sql.TxOptions) (*sql.Tx, error) {
	in, t, err := db.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer t.panicked()
	tx, err := db.DB.BeginTx(in, options)
	return tx, t.finish(err)
}

// Conn is that of *sql.DB, with a place that is held until Close of the Conn. Its
// statements end by Plan.Once after this call.
func (db *DB) Conn(ctx context.Context) (*sql.Conn, error) {
	in, t, err := db.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer t.panicked()
	c, err := db.DB.Conn(in)
	if err == nil { // one that was opened for whoever waits has not seen the context
		err = c.Raw(func(driverConn any) error {
			if c, ok := baseOf(driverConn); ok {
				c.take(in)
			}
			return nil
		})
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return c, t.finish(err)
}

// PingContext is that of *sql.DB, with a place.
func (db *DB) PingContext(ctx context.Context) error {
	in, t, err := db.enter(ctx)
	if err != nil {
		return err
	}
	defer t.panicked()
	return t.finish(db.DB.PingContext(in))
}

// Begin, Query, QueryRow, Exec and Ping are those with a context, without one: the
// plan bounds them.

// Begin is BeginTx with the background context.
func (db *DB) Begin() (*sql.Tx, error) { return db.BeginTx(context.Background(), nil) }

// Query is QueryContext with the background context.
func (db *DB) Query(query string, args ...any) (*sql.Rows, error) {
	return db.QueryContext(context.Background(), query, args...)
}

// QueryRow is QueryRowContext with the background context.
func (db *DB) QueryRow(query string, args ...any) *sql.Row {
	return db.QueryRowContext(context.Background(), query, args...)
}

// Exec is ExecContext with the background context.
func (db *DB) Exec(query string, args ...any) (sql.Result, error) {
	return db.ExecContext(context.Background(), query, args...)
}

// Ping is PingContext with the background context.
func (db *DB) Ping() error { return db.PingContext(context.Background()) }

// refused is a context that has ended with an error of ours: a *sql.Row can't be
// made with an error, but database/sql makes one of a context that is over, before
// it looks for a connection.
type refused struct {
	context.Context
	err error
}

var over = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// Done implements context.Context.
func (r refused) Done() <-chan struct{} { return over }

// Err implements context.Context.
func (r refused) Err() error { return r.err }
