package sqlclient

import (
	"context"
	"database/sql/driver"
	"io"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
)

// database is one in this process, and its driver.
type database struct {
	serve  func(ctx context.Context, query string) error
	legacy bool // its driver has no optional interface at all

	mu     sync.Mutex
	open   int
	most   int
	opened int
	calls  []string
	broken bool // answers nobody
}

func (d *database) Connect(context.Context) (driver.Conn, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return nil, io.EOF
	}
	d.open++
	d.opened++
	d.most = max(d.most, d.open)
	if d.legacy {
		return &oldConn{d}, nil
	}
	return &fullConn{oldConn{d}}, nil
}

func (d *database) Driver() driver.Driver { return nil }

func (d *database) do(ctx context.Context, what string) error {
	d.mu.Lock()
	d.calls = append(d.calls, what)
	broken := d.broken
	d.mu.Unlock()
	if broken {
		return driver.ErrBadConn
	}
	if d.serve != nil {
		return d.serve(ctx, what)
	}
	return nil
}

func (d *database) breaks(yes bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = yes
}

func (d *database) seen() (open, most, opened int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open, d.most, d.opened
}

// oldConn is what every driver must have.
type oldConn struct{ of *database }

func (c *oldConn) Prepare(q string) (driver.Stmt, error) {
	return oldStmt{c, q}, c.of.do(context.Background(), "prepare "+q)
}
func (c *oldConn) Begin() (driver.Tx, error) { return c, c.of.do(context.Background(), "begin") }
func (c *oldConn) Commit() error             { return c.of.do(context.Background(), "commit") }
func (c *oldConn) Rollback() error           { return c.of.do(context.Background(), "rollback") }
func (c *oldConn) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.open--
	return nil
}

type oldStmt struct {
	c *oldConn
	q string
}

func (s oldStmt) Close() error  { return s.c.of.do(context.Background(), "close "+s.q) }
func (s oldStmt) NumInput() int { return -1 }
func (s oldStmt) Exec([]driver.Value) (driver.Result, error) {
	return driver.RowsAffected(1), s.c.of.do(context.Background(), "exec "+s.q)
}
func (s oldStmt) Query([]driver.Value) (driver.Rows, error) {
	return &rows{}, s.c.of.do(context.Background(), "query "+s.q)
}

// ColumnConverter has some drivers turn arguments into what a column takes.
func (s oldStmt) ColumnConverter(int) driver.ValueConverter { return driver.String }

// fullConn has all there is.
type fullConn struct{ oldConn }

func (c *fullConn) Ping(ctx context.Context) error { return c.of.do(ctx, "ping") }
func (c *fullConn) ExecContext(ctx context.Context, q string, _ []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), c.of.do(ctx, "exec "+q)
}
func (c *fullConn) QueryContext(ctx context.Context, q string, _ []driver.NamedValue) (driver.Rows, error) {
	return &rows{}, c.of.do(ctx, "query "+q)
}
func (c *fullConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	return c, c.of.do(ctx, "begin")
}
func (c *fullConn) PrepareContext(ctx context.Context, q string) (driver.Stmt, error) {
	return oldStmt{&c.oldConn, q}, c.of.do(ctx, "prepare "+q)
}
func (c *fullConn) ResetSession(ctx context.Context) error { return c.of.do(ctx, "reset") }
func (c *fullConn) IsValid() bool                          { return c.of.do(context.Background(), "valid") == nil }
func (c *fullConn) CheckNamedValue(v *driver.NamedValue) error {
	return driver.ErrSkip
}

// rows is one row.
type rows struct{ read bool }

func (r *rows) Columns() []string { return []string{"n"} }
func (r *rows) Close() error      { return nil }
func (r *rows) Next(to []driver.Value) error {
	if r.read {
		return io.EOF
	}
	r.read, to[0] = true, int64(1)
	return nil
}

func open(t *testing.T, d *database, plan capacity.Plan) *DB {
	t.Helper()
	db, err := New(d, plan, &Options{Name: "orders-db", Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close() = %v, want nil", err)
		}
	})
	return db
}
