package sqlclient

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/clienttest"
)

func TestADatabaseHasAllBehavioursOfAClient(t *testing.T) {
	clienttest.Run(t, clienttest.Subject{Open: func(t *testing.T, s clienttest.Setup) clienttest.Client {
		db := open(t, &database{serve: func(ctx context.Context, q string) error {
			if !strings.HasPrefix(q, "exec") {
				return nil
			}
			if s.Before != nil {
				s.Before()
			}
			return s.Handle(ctx)
		}}, s.Plan)
		return clienttest.Client{
			Call: func(ctx context.Context) error { _, err := db.ExecContext(ctx, "UPDATE"); return err },
			Load: func() (int, int) {
				u := db.Usage()
				return u.InFlight, u.Queued
			},
			Resize: db.Resize, Shutdown: db.Shutdown, Close: db.Close,
		}
	}})
}

func TestThePlaceIsHeldAsLongAsTheConnection(t *testing.T) {
	for name, hold := range map[string]func(context.Context, *DB) (end func() error, err error){
		"rows": func(ctx context.Context, db *DB) (func() error, error) {
			r, err := db.QueryContext(ctx, "SELECT")
			if err != nil {
				return nil, err
			}
			return r.Close, r.Err()
		},
		"a row": func(ctx context.Context, db *DB) (func() error, error) {
			r := db.QueryRowContext(ctx, "SELECT")
			return func() error { var n int; return r.Scan(&n) }, r.Err()
		},
		"a transaction": func(ctx context.Context, db *DB) (func() error, error) {
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return nil, err
			}
			return tx.Commit, nil
		},
		"a conn": func(ctx context.Context, db *DB) (func() error, error) {
			c, err := db.Conn(ctx)
			if err != nil {
				return nil, err
			}
			return c.Close, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				db := open(t, &database{}, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue})
				for range 3 { // new, and reused
					end, err := hold(t.Context(), db)
					if err != nil {
						t.Fatalf("hold = %v, want nil", err)
					}
					if u := db.Usage(); u.InFlight != 1 || u.Open != 1 || u.Idle != 0 {
						t.Errorf("Usage() = %d in flight, %d open, %d idle, want 1, 1, 0", u.InFlight, u.Open, u.Idle)
					}
					if _, err := hold(t.Context(), db); !errors.Is(err, offtake.ErrBusy) {
						t.Errorf("hold of a second = %v, want %v", err, offtake.ErrBusy)
					}
					if err := end(); err != nil {
						t.Errorf("end = %v, want nil", err)
					}
					synctest.Wait()
					if u := db.Usage(); u.InFlight != 0 || u.Open != 1 || u.Idle != 1 || u.Around != 0 {
						t.Errorf("Usage() = %d in flight, %d open, %d idle, %d around, want 0, 1, 1, 0", u.InFlight, u.Open, u.Idle, u.Around)
					}
				}
			})
		})
	}
}

func TestATransactionThatIsForgottenEndsWithItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, &database{}, capacity.Plan{InFlight: 1, Deadline: time.Second, Wait: 10 * time.Millisecond})
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second)
		synctest.Wait()
		if got := db.Usage().InFlight; got != 0 {
			t.Errorf("Usage().InFlight = %d, want 0", got)
		}
		if err := tx.Commit(); err == nil {
			t.Error("Commit() after the deadline = nil, want an error")
		}
	})
}

func TestAStatementAroundTheQueueIsBoundedAndCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, &database{serve: func(ctx context.Context, q string) error {
			if q != "exec UPDATE" {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}}, capacity.Plan{InFlight: 2, Deadline: time.Second})
		began := time.Now()
		_, err := db.DB.ExecContext(t.Context(), "UPDATE")
		if got := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || got != 900*time.Millisecond {
			t.Errorf("ExecContext() of the *sql.DB = %v after %v, want %v after 900ms", err, got, context.DeadlineExceeded)
		}
		if u := db.Usage(); u.Around != 1 || u.InFlight != 0 {
			t.Errorf("Usage() = %d around, %d in flight, want 1, 0", u.Around, u.InFlight)
		}
	})
}

func TestWarmConnectionsStandBeforeTheFirstCallAndAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &database{}
		db := open(t, d, capacity.Plan{InFlight: 8, Warm: 6})
		if err := db.Warm(t.Context()); err != nil {
			t.Fatal(err)
		}
		if open, _, opened := d.seen(); open != 6 || opened != 6 {
			t.Errorf("connections after Warm() = %d of %d opened, want 6 of 6", open, opened)
		}
		var group sync.WaitGroup
		for range 50 {
			group.Go(func() { _, _ = db.Exec("UPDATE") }) // some are refused
		}
		group.Wait()
		d.breaks(true) // restarted: every connection is lost
		for range 8 {
			_, _ = db.DB.ExecContext(t.Context(), "UPDATE")
		}
		<-time.After(time.Minute) // fails to warm, again and again
		d.breaks(false)
		<-time.After(10 * time.Second)
		synctest.Wait()
		if open, most, _ := d.seen(); open < 6 || most > 8 {
			t.Errorf("connections after a restart = %d, %d at the most, want 6 again and never more than 8", open, most)
		}
		<-time.After(2 * time.Hour) // idle and too old, again and again
		if open, most, opened := d.seen(); open < 6 || most > 8 || opened < 24 {
			t.Errorf("connections after two hours = %d, %d at the most, %d opened, want 6, never more than 8, and all replaced", open, most, opened)
		}
	})
}

// TestADriverSeesTheSameCallsAsWithoutUs holds what a driver is asked, with all
// optional interfaces and with none, against a bare *sql.DB.
func TestADriverSeesTheSameCallsAsWithoutUs(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		ours, bare := &database{legacy: legacy}, &database{legacy: legacy}
		db, without := open(t, ours, capacity.Plan{InFlight: 1}), sql.OpenDB(bare)
		without.SetMaxOpenConns(1)
		defer without.Close()
		got, want := script(t, db), script(t, without)
		if !slices.Equal(got, want) {
			t.Errorf("results with legacy = %t: %q, want %q", legacy, got, want)
		}
		if !slices.Equal(ours.calls, bare.calls) {
			t.Errorf("driver calls with legacy = %t:\n%q, want\n%q", legacy, ours.calls, bare.calls)
		}
	}
}

// script does all there is to do, and returns what came of it.
func script(t *testing.T, db interface {
	PingContext(context.Context) error
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
	PrepareContext(context.Context, string) (*sql.Stmt, error)
	BeginTx(context.Context, *sql.TxOptions) (*sql.Tx, error)
}) (results []string) {
	ctx := t.Context()
	note := func(err error) {
		if err == nil {
			err = errors.New("fine")
		}
		results = append(results, err.Error())
	}
	note(db.PingContext(ctx))
	_, err := db.ExecContext(ctx, "e", 1, "two")
	note(err)
	_, err = db.ExecContext(ctx, "named", sql.Named("n", 1))
	note(err)
	_, err = db.ExecContext(ctx, "wrong", struct{}{})
	note(err)
	var n int
	note(db.QueryRowContext(ctx, "q", 1).Scan(&n))
	if s, err := db.PrepareContext(ctx, "p"); err == nil {
		_, err = s.ExecContext(ctx, 7)
		note(err)
		note(s.QueryRowContext(ctx, 7).Scan(&n))
		note(s.Close())
	}
	for _, o := range []*sql.TxOptions{nil, {ReadOnly: true}, {Isolation: sql.LevelSerializable}} {
		tx, err := db.BeginTx(ctx, o)
		if note(err); err == nil {
			_, err = tx.ExecContext(ctx, "in tx")
			note(err)
			note(tx.Commit())
		}
	}
	return results
}

func TestTheDriversOwnConnectionCanBeHad(t *testing.T) {
	db := open(t, &database{}, capacity.Plan{InFlight: 1})
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Raw(func(driverConn any) error {
		if _, ok := Underlying(driverConn).(*fullConn); !ok {
			t.Errorf("Underlying(%T) = %T, want a *fullConn", driverConn, Underlying(driverConn))
		}
		return nil
	})
	if err != nil {
		t.Errorf("Raw() = %v, want nil", err)
	}
}

func TestEveryMistakeComesAtOnce(t *testing.T) {
	_, err := New(nil, capacity.Plan{InFlight: 4, Streams: 2}, &Options{Idle: -1})
	for _, want := range []string{"connector", "Streams", "Options.Idle"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New() = %v, want it to name %s", err, want)
		}
	}
	var _ driver.Connector = (*connector)(nil)
}
