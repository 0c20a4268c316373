// Package capacity derives the sizes of a client from the traffic it will carry.
//
// A [Demand] states what comes: a peak rate, a latency, the replicas, the
// upstream's limit, the caller's deadline. [Demand.Plan] derives a [Plan], the
// sizes of one replica, which every constructor of this module takes;
// [Demand.Explain] shows each formula with its inputs and what bound it. A demand
// that nothing can satisfy is an [Infeasible], with the numbers that would change
// it, and never a clamped plan.
//
// The formulas behind it are exported too: Little's law, Erlang B and C and the
// waits that follow, a bounded queue, the collapse of an unbounded one, the cost
// of retries, of rollouts and of too few kept connections. They take rates in
// requests per second, times in seconds and loads in places (erlangs, the mean
// number in flight), all as float64, so that they compose without rounding to
// nanoseconds. Outside its domain a formula returns NaN; where a queue has no
// bound it returns +Inf.
//
// Everything here is a pure function of plain values, and safe for concurrent
// use.
package capacity
