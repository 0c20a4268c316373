//go:build !race

package grpcclient

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// The race detector itself fails with so many goroutines and timers in a bubble, one
// time in fifteen: go.dev/issue/78156.
func TestClientsOfAServerThatRestartsComeBackOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const clients = 200
		var (
			mu    sync.Mutex
			back  []time.Duration
			since time.Time
		)
		l := pipenet.Listen()
		u := &upstream{}
		server := serve(t, l, u)
		for range clients {
			first := true
			c := dial(t, "passthrough:///upstream", capacity.Plan{InFlight: 1}, &Options{
				Dial: func(ctx context.Context, address string) (net.Conn, error) {
					mu.Lock()
					if !first {
						back = append(back, time.Since(since))
					}
					first = false
					at := l
					mu.Unlock()
					return at.Dial(ctx, "", address)
				},
			})
			warm(t, c)
		}
		mu.Lock()
		l, since = pipenet.Listen(), time.Now()
		mu.Unlock()
		server.Stop()
		serve(t, l, u)
		<-time.After(5 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(back) != clients {
			t.Fatalf("dials after the restart = %d, want %d", len(back), clients)
		}
		slices.Sort(back)
		for i := range back {
			n := 0
			for _, at := range back[i:] {
				if at-back[i] < 100*time.Millisecond {
					n++
				}
			}
			if n > clients/4 {
				t.Errorf("clients back within the 100ms from %v = %d of %d, want at most a quarter", back[i], n, clients)
			}
		}
	})
}
