// Package guard bounds any call: to a cache, a queue, a driver of one's own.
//
// A [Guard] has the places, the bounded queue, the times, the retry budget, the
// metrics and the page of the clients in this module, around a function:
//
//	err := redis.Do(ctx, func(ctx context.Context) error { return cache.Ping(ctx) })
//
// [Call] is the same with a result, and [Guard.Take] gives a place out by hand.
//
// # The life of a call
//
// A call waits in turn for a place, for Plan.Wait at the longest. A refused one has
// not run: its error is an *offtake.Error that wraps offtake.ErrBusy. With a place,
// the function runs on the caller's own goroutine, with a context that ends after
// Plan.Attempt, or after Plan.Once if it may not be repeated, and with Plan.Deadline
// at the latest. It must heed that context: nothing can end a function that does
// not. Such a one keeps its place until it returns, since whatever it holds is
// held until then, and is counted in Stats.Overdue meanwhile.
//
// It is tempting to run the function on a goroutine of its own and to leave it
// behind when its time is over. But the place would then be given to another while
// the upstream still works for the first, and goroutines would pile up without any
// bound: the very thing that places are for.
//
// A function is called once, unless the caller says with [Idempotent], or
// Plan.Idempotent, that doing it twice is doing it once.
package guard
