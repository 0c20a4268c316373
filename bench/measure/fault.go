package measure

import "sync/atomic"

// counted is a fault that meets every nth request once it is on.
type counted struct {
	on         atomic.Bool
	seen, hits atomic.Int64
}

func (f *counted) next(every int64) bool {
	if every == 0 || !f.on.Load() || f.seen.Add(1)%every != 0 {
		return false
	}
	f.hits.Add(1)
	return true
}
