package redisfleet

import (
	"time"

	"github.com/offtake-go/offtake/fleet"
)

// member is what one replica knows of its lease. It belongs to one goroutine.
//
// Always: what the client has in use above the floor ≤ held ≤ what the store has
// leased to this member, as long as the store's lease has not ended; and before it
// ends, target is 0 for long enough that nothing above the floor is in use.
type member struct {
	id    string
	floor int
	pool  int
	lease time.Duration
	hold  time.Duration // the longest that a place stays in use once it is taken away

	seq    int64
	held   int       // places above the floor that may be in use
	target int       // places above the floor that the client has now
	until  time.Time // when target ends unless it is renewed
	shrunk time.Time // when the client last had less
	need   float64   // places in all, at its peak and then decaying
}

// ask makes the next request. use is nil if nobody knows.
func (m *member) ask(now time.Time, use *fleet.Use) request {
	m.giveBack(now, use)
	m.seq++
	return request{member: m.id, seq: m.seq, held: m.held, want: m.want(use), pool: m.pool, lease: m.lease}
}

// giveBack lowers held to what can still be in use.
func (m *member) giveBack(now time.Time, use *fleet.Use) {
	switch {
	case use != nil:
		m.held = min(m.held, max(m.target, use.InFlight-m.floor))
	case now.Sub(m.shrunk) >= m.hold:
		m.held = m.target
	}
}

const (
	blocks   = 32     // that the pool is asked for in, so that a place more or less moves nobody
	headroom = 1.25   // over what is used and waited for
	decay    = 7. / 8 // of the need, with each renewal
)

// want is how many places above the floor would do. If nobody knows it is all, which
// comes to an equal share.
func (m *member) want(use *fleet.Use) int {
	if use == nil {
		return m.pool
	}
	m.need = max(headroom*float64(use.InFlight+use.Waiting), decay*m.need)
	block := max(m.pool/blocks, 1)
	above := max(int(m.need)-m.floor, 0)
	return min((above+block-1)/block*block, m.pool)
}

// take reads the reply to a request that was sent at sent. The share counts from
// then, so that one which comes late has less of it left, or none.
func (m *member) take(sent time.Time, r reply) {
	m.until = sent.Add(m.lease - m.lease/marginPart - m.hold)
	m.held, m.target = r.places, r.target
}

// lapse drops the share when its time is over.
func (m *member) lapse(now time.Time) {
	if m.target > 0 && !now.Before(m.until) {
		m.target = 0
	}
}
