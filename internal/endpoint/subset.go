package endpoint

import (
	"cmp"
	"hash/fnv"
	"slices"
)

// LeastSubset is how many endpoints a replica holds that does not know which one
// of the replicas it is: with fewer, chance alone leaves some without any caller
// ("Site Reliability Engineering", chapter 20).
const LeastSubset = 20

// Subset returns which of the endpoints a replica uses, if not all: size of them,
// of which replica is the index, from 0. The replicas take theirs in turn from one
// circle, so that the endpoint that most of them use is used by one replica more
// than the one that the fewest use. The circle is in an order that has nothing to
// do with the addresses, so that one's endpoints are not all in one rack.
//
// With a negative index the subset is random by seed, and at least [LeastSubset]
// are in it. An endpoint that comes or goes then changes at most one of it.
func Subset(endpoints []string, size, replica int, seed uint64) []string {
	if replica < 0 {
		size = max(size, LeastSubset)
	} else {
		seed = 0
	}
	order := slices.Clone(endpoints)
	slices.Sort(order)
	order = slices.Compact(order)
	if size <= 0 || size >= len(order) {
		return order
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(position(a, seed), position(b, seed)) })
	if replica < 0 {
		return order[:size:size]
	}
	subset := make([]string, size)
	first := replica % len(order) * size
	for i := range subset {
		subset[i] = order[(first+i)%len(order)]
	}
	return subset
}

// position is a hash that is the same in all replicas.
func position(address string, seed uint64) uint64 {
	h := fnv.New64a()
	h.Write([]byte(address))
	x := h.Sum64() ^ seed*0x9e3779b97f4a7c15
	x ^= x >> 33 // FNV alone leaves addresses that differ at the end side by side
	x *= 0xff51afd7ed558ccd
	return x ^ x>>33
}
