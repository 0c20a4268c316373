package redisfleet

import (
	"cmp"
	"maps"
	"slices"
)

// reference is the script once more, in Go and as plainly as it can be said. The
// wall clock, in milliseconds, and the run of the store are set from outside.
type reference struct {
	wall int64
	run  string

	known   bool // the key exists
	last    int64
	now     int64
	opens   int64
	lastRun string
	leases  map[string]lease
}

type lease struct {
	seq    int64
	ends   int64
	places int
	want   int
	pool   int
}

// do is the script. ok is false if a later request of the member was here first.
func (s *reference) do(r request) (_ reply, ok bool) {
	ms := r.lease.Milliseconds()
	now, opens := s.tick(ms)
	maps.DeleteFunc(s.leases, func(_ string, l lease) bool { return l.ends <= now })
	was, had := s.leases[r.member]
	if had && r.seq <= was.seq {
		return reply{}, false
	}
	s.known, s.last, s.lastRun, s.now, s.opens = true, s.wall, s.run, now, opens
	delete(s.leases, r.member)
	leased, pool := 0, r.pool
	for _, l := range s.leases {
		leased += l.places
		pool = min(pool, l.pool)
	}
	mine := lease{seq: r.seq, ends: now + ms, places: r.held, want: max(r.want, 0), pool: r.pool}
	if r.want == leave {
		count := len(s.leases)
		if r.held > 0 {
			s.leases[r.member] = mine
		}
		return reply{places: r.held, members: count}, true
	}
	s.leases[r.member] = mine
	target := max(min(fair(s.leases, r.member, pool), pool-leased), 0)
	if opens > now {
		target = min(target, r.held)
	}
	mine.places = max(r.held, target)
	s.leases[r.member] = mine
	return reply{places: mine.places, target: target, members: len(s.leases), open: opens <= now}, true
}

// tick is the clock of the leases now: on by what passed on the wall, within bounds.
func (s *reference) tick(ms int64) (now, opens int64) {
	if !s.known {
		s.leases = map[string]lease{}
		return 0, ms
	}
	now, opens = s.now+min(max(s.wall-s.last, 0), ms/16), s.opens
	if s.run != s.lastRun {
		opens = now + ms
	}
	return now, opens
}

// fair hands out the pool place by place: each to the one that has least of those
// that still want one, and once nobody wants any, each to the one that has fewest of
// those left over.
func fair(leases map[string]lease, id string, pool int) int {
	order := slices.SortedFunc(maps.Keys(leases), func(a, b string) int {
		return cmp.Or(cmp.Compare(leases[a].want, leases[b].want), cmp.Compare(a, b))
	})
	// With equal parts the later in order come first, as the script rounds.
	slices.Reverse(order)
	wanted, spare := map[string]int{}, map[string]int{}
	least := func(has map[string]int, may func(string) bool) string {
		best := ""
		for _, m := range order {
			if may(m) && (best == "" || has[m] < has[best]) {
				best = m
			}
		}
		return best
	}
	for range pool {
		if m := least(wanted, func(m string) bool { return wanted[m] < leases[m].want }); m != "" {
			wanted[m]++
		} else {
			spare[least(spare, func(string) bool { return true })]++
		}
	}
	return wanted[id] + spare[id]
}
