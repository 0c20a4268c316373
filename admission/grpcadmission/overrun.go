package grpcadmission

import (
	"context"
	"time"
)

// overrunAfter is how long a handler may take to notice that its call is over. A
// well-behaved one is told at the same moment as we are.
const overrunAfter = 100 * time.Millisecond

// watch counts a handler that goes on after its context has ended. The function
// it returns is for when the handler returns.
//
// No goroutine watches: the context runs the function on its end, if it ends
// before the handler.
func (g *Guard) watch(ctx context.Context) func() {
	var ended time.Time
	seen := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		ended = time.Now()
		g.overrunning.Add(1)
		close(seen)
	})
	return func() {
		if stop() {
			return
		}
		<-seen // it has begun, and waits for nothing
		g.overrunning.Add(-1)
		if time.Since(ended) > overrunAfter {
			g.overran.Add(1)
		}
	}
}
