// Package redisfleet leases the places of a limit to replicas through Redis or
// Valkey.
//
//	whole := capacity.Plan{InFlight: 200, Deadline: 5 * time.Second}
//	source, err := redisfleet.New(store, "card-processor", whole, 12, nil)
//	client, err := httpclient.New(target, source.Floor(), options)
//	running.Go(func() {
//		source.Follow(ctx, client.Resize, func() fleet.Use {
//			s := client.Stats()
//			return fleet.Use{InFlight: s.InFlight, Waiting: s.Queued}
//		})
//	})
//
// Every replica has its floor in any case (see fleet.Reserve). What lies above the
// floors is the pool, and the store knows who has which part of it: a lease of so
// many places, with a time to live. One script, run atomically, renews a lease,
// moves it towards demand, and takes it back.
//
// # Why the sum holds
//
// In the store the leases are never more than the pool. A lease there is never less
// than what its member uses above its floor: a member first uses less and then says
// so, and uses more only when it has read that it may. Requests are numbered, so
// that one which comes late undoes nothing. And a member's own lease ends before
// the store's: it counts from before the question, on its own monotonic clock, less
// an eighth of the lease for the clocks, and less the plan's Deadline, so that its
// last call is over by then.
//
//   - A newcomer finds the places that others do not have. They shrink when it has
//     said what it wants, and it gets what they have given back.
//   - A replica that dies without a word has its places counted until its lease ends.
//   - A replica that is cut off, or whose store is slow or gone, keeps its share
//     while its lease lasts and then has its floor.
//   - A store that lost its data, was restored, or was replaced by a replica of its
//     own gives out nothing new for the length of a lease; members keep what they
//     hold. The first start of a fleet is the same.
//   - A step of the store's time of day is taken as no more than a sixteenth of a
//     lease.
//
// # What it needs
//
// Redis from version 5 on, or Valkey, and the commands EVAL, EVALSHA, TIME, INFO,
// HGETALL, HSET, HDEL and PEXPIRE for the key "offtake:fleet:{name}". Set
// ContextTimeoutEnabled on the client, so that a slow store can be given up.
//
// Two stores that both take writes give out everything twice: under Sentinel or in
// a cluster set min-replicas-to-write to 1 and min-replicas-max-lag to no more than
// the time after which a primary counts as down.
package redisfleet
