package gate

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestCallersThatComeAndGoAtOnceLeaveNothingBehind plays what the model can not:
// grants, ends of contexts, ends of waits and resizes in the same instant.
func TestCallersThatComeAndGoAtOnceLeaveNothingBehind(t *testing.T) {
	const callers, calls, most = 16, 500, 4
	g := New(Limits{Places: most, Queue: callers, Wait: time.Millisecond})
	var inside, entered atomic.Int64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range calls {
				ctx, cancel := context.WithCancel(t.Context())
				if rng.IntN(2) == 0 {
					wg.Go(cancel)
				}
				until := time.Now().Add(time.Duration(rng.IntN(2000)-500) * time.Microsecond)
				if _, err := g.EnterBy(ctx, until); err == nil {
					entered.Add(1)
					if n := inside.Add(1); n > most {
						t.Errorf("%d callers inside, want %d at most", n, most)
					}
					runtime.Gosched()
					inside.Add(-1)
					g.Leave()
				}
				if rng.IntN(20) == 0 {
					g.Resize(Limits{Places: 1 + rng.IntN(most), Queue: rng.IntN(callers), Wait: time.Millisecond})
				}
				cancel()
			}
		})
	}
	wg.Wait()
	wantInside(t, g, 0, 0)
	if got, want := g.Snapshot().Entered, uint64(entered.Load()); got != want {
		t.Errorf("Entered = %d, want the %d that came in", got, want)
	}
}
