package redisfleet

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

//go:embed lease.lua
var leaseScript string

// request is what a member says to the store.
type request struct {
	member string
	seq    int64 // counts up in each member
	held   int   // places above the floor that it may be using
	want   int   // places above the floor; leave gives all back
	pool   int
	lease  time.Duration
}

const leave = -1

// reply is what the store says to a member.
type reply struct {
	places  int // leased: held, and what is new
	target  int // to go to: less than places if some are to be given back
	members int
	open    bool // new places are given out
}

// errOvertaken is the answer to a request after a later one: a client that tries
// again has sent it twice.
var errOvertaken = errors.New("redisfleet: the store has seen a later request of this replica")

// store runs the script for one key.
type store struct {
	scripter redis.Scripter
	script   *redis.Script
	key      string
}

func (s store) do(ctx context.Context, r request) (reply, error) {
	got, err := s.script.Run(ctx, s.scripter, []string{s.key},
		r.member, r.seq, r.held, r.want, r.pool, r.lease.Milliseconds()).Int64Slice()
	switch {
	case err != nil:
		return reply{}, fmt.Errorf("redisfleet: renew %s: %w", s.key, err)
	case len(got) == 1:
		return reply{}, errOvertaken
	case len(got) != 4 || got[0] < int64(r.held) || got[1] < 0 || got[1] > got[0]:
		return reply{}, fmt.Errorf("redisfleet: renew %s: the store answered %v, which is not a lease", s.key, got)
	}
	return reply{places: int(got[0]), target: int(got[1]), members: int(got[2]), open: got[3] == 1}, nil
}

// scriptFor is the store of the limit of that name. The braces keep the key in one
// slot of a cluster.
func scriptFor(scripter redis.Scripter, name string) store {
	return store{scripter: scripter, script: redis.NewScript(leaseScript), key: "offtake:fleet:{" + name + "}"}
}
