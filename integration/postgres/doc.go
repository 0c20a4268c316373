// Package postgres tests sqlclient and guard against a real PostgreSQL: restarted,
// slow by a lock, out of connections, and in a crowd, each beside a bare sql.DB of the
// same MaxOpenConns.
package postgres
