// Package sqlclient bounds the calls to one database over database/sql.
//
// A [DB] is a *sql.DB with sizes: a bounded first-come queue in front of a pool of
// the same size, a deadline for each statement and transaction, and connections
// that are opened and proven before the first call, and kept so. [New] takes any
// driver.Connector, and no driver comes with this package.
//
// # The life of a call
//
// QueryContext, QueryRowContext, ExecContext, BeginTx, Conn and PingContext of a DB
// wait in turn for a place, for Plan.Wait at the longest; a refused call has sent
// nothing, and its error is an *offtake.Error that wraps offtake.ErrBusy. The place is
// held as long as the connection is: until the rows are closed, the transaction is
// over, or the Conn is given back, and for no longer than Plan.Once, which ends
// all three.
//
// # Around the queue
//
// DB.DB is the *sql.DB itself, for whatever takes one. Its calls take no place. They
// wait in database/sql's own queue, which has no bound but the caller's context; but
// the connections are the same, no more than Plan.Connections, each statement ends
// by Plan.Once, and the connections they hold are counted. So are those of a
// statement that was prepared. The bound on a transaction of theirs is their own.
package sqlclient
