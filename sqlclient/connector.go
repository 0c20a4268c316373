package sqlclient

import (
	"context"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// connector opens connections for database/sql, out of a stash of those that were
// opened and proven beforehand.
//
// It is tempting to warm the pool through the pool: to hold Warm connections at once
// and ping each. But it gives what is idle first, so that to replace a lost one all
// others would have to be held meanwhile, and calls would wait for it. From the
// stash a connection is had without any wait.
type connector struct {
	inner   driver.Connector
	options Options
	db      *DB

	inUse  atomic.Int64
	around atomic.Uint64
	aged   atomic.Uint64
	idled  atomic.Uint64 // closed in the stash
	ended  atomic.Uint64 // closed for any reason

	warmer warmer

	mu      sync.Mutex
	open    int     // connections, those being opened too
	dialing int     // of open, by the warmer
	stash   []*conn // the freshest last
	changed chan struct{}
	shut    bool
}

func newConnector(inner driver.Connector, o Options) *connector {
	c := &connector{inner: inner, options: o}
	c.warmer.connector = c
	c.warmer.ctx, c.warmer.cancel = context.WithCancel(context.Background()) //nolint:fatcontext // it ends with the connector
	return c
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return c.inner.Driver() }

// Connect implements driver.Connector. While the warmer opens the last connections
// there may be, it waits for those.
func (c *connector) Connect(ctx context.Context) (driver.Conn, error) {
	for {
		c.mu.Lock()
		if n := len(c.stash); n > 0 {
			taken := c.stash[n-1]
			c.stash = c.stash[:n-1]
			c.mu.Unlock()
			if errors.Is(taken.reset(ctx), driver.ErrBadConn) {
				_ = taken.Close() // it is broken
				continue
			}
			if ticketOf(ctx) != nil {
				taken.take(ctx)
			}
			return taken.facade(), nil
		}
		if c.dialing == 0 || c.open < c.db.plan.Load().Connections {
			c.open++
			c.mu.Unlock()
			break
		}
		if c.changed == nil {
			c.changed = make(chan struct{})
		}
		changed := c.changed
		c.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	opened, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	if ticketOf(ctx) != nil {
		opened.take(ctx)
	}
	return opened.facade(), nil
}

// dial opens a connection that is counted already. Without a bound of the caller's
// it has the plan's: database/sql opens some with no bound at all.
func (c *connector) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.db.plan.Load().Deadline)
	defer cancel()
	inner, err := c.inner.Connect(ctx)
	if err != nil {
		c.mu.Lock()
		c.lessLocked()
		c.mu.Unlock()
		return nil, err
	}
	tenth := c.options.MaxAge / 10
	return &conn{Conn: inner, of: c, expires: time.Now().Add(c.options.MaxAge - tenth + rand.N(2*tenth+1))}, nil
}

// closed is told of each connection that has closed.
func (c *connector) closed() {
	c.ended.Add(1)
	c.mu.Lock()
	c.lessLocked()
	shut := c.shut
	c.mu.Unlock()
	if !shut {
		c.warmer.soon()
	}
}

func (c *connector) lessLocked() {
	c.open--
	c.wakeLocked()
}

func (c *connector) wakeLocked() {
	if c.changed != nil {
		close(c.changed)
		c.changed = nil
	}
}

// count is for the metrics: connections that are idle and in use.
func (c *connector) count() (idle, active int) {
	c.mu.Lock()
	open := c.open - c.dialing
	c.mu.Unlock()
	active = min(open, int(c.inUse.Load()))
	return open - active, active
}

// drop takes out of the stash what has been there for too long, or is too much.
func (c *connector) drop(all bool) {
	now, most := time.Now(), c.db.plan.Load().Connections
	c.mu.Lock()
	var out []*conn
	for len(c.stash) > 0 && (all || c.open-len(out) > most || now.Sub(c.stash[0].since) > c.options.Idle || now.After(c.stash[0].expires)) {
		out = append(out, c.stash[0])
		c.stash = c.stash[1:]
	}
	c.shut = c.shut || all
	c.mu.Unlock()
	for _, old := range out {
		c.idled.Add(1)
		_ = old.Close() // nobody has asked for it
	}
}
