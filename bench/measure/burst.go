package measure

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// Death is a request that makes the upstream close its connection without an
// answer.
type Death struct {
	Name     string `json:"name"`
	Warm     int    `json:"warmConnections"`
	Requests int64  `json:"requestsForOneCall"` // at the upstream
}

// Deaths sends one such request on a pool of warm connections.
func Deaths(stack peers.HTTP, warm int) (Death, error) {
	var deadly atomic.Bool
	var arrived sync.WaitGroup
	arrived.Add(warm)
	u := serve(func(w http.ResponseWriter, _ *http.Request) {
		if deadly.Load() {
			panic(http.ErrAbortHandler)
		}
		arrived.Done()
		arrived.Wait() // so that there are as many connections
	})
	defer u.Close()
	base := u.transport(warm)
	defer base.CloseIdleConnections()
	client, err := stack.New(base, nil, u.URL, peers.Sizes{InFlight: warm, Deadline: 5 * time.Second})
	if err != nil {
		return Death{}, err
	}
	defer client.Stop()
	var calls sync.WaitGroup
	for range warm {
		calls.Go(func() { client.Do(context.Background(), u.URL) })
	}
	calls.Wait()
	deadly.Store(true)
	before := u.requests.Load()
	client.Do(context.Background(), u.URL)
	return Death{stack.Name, warm, u.requests.Load() - before}, nil
}

// Waiters is the memory of calls that wait for a connection, for each of them.
type Waiters struct {
	Name   string  `json:"name"`
	Count  int     `json:"count"`
	During float64 `json:"bytesWhileWaiting"`
	After  float64 `json:"bytesAfterTheyLeft"`
}

// Waiting has so many calls come while the only connection is busy, and leave after a
// while in which all of them must be waiting.
func Waiting(stack peers.HTTP, count int, while time.Duration) (Waiters, error) {
	release := make(chan struct{})
	u := serve(func(w http.ResponseWriter, _ *http.Request) {
		<-release
		io.WriteString(w, "ok")
	})
	defer u.Close()
	defer close(release)
	base := u.transport(1)
	defer base.CloseIdleConnections()
	client, err := stack.New(base, nil, u.URL, peers.Sizes{InFlight: 1, Deadline: time.Minute, Queue: count})
	if err != nil {
		return Waiters{}, err
	}
	defer client.Stop()
	go client.Do(context.Background(), u.URL)
	for u.requests.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	var refused atomic.Int64
	crowd := func(look func()) {
		ctx, cancel := context.WithCancel(context.Background())
		var calls sync.WaitGroup
		for range count {
			calls.Go(func() {
				if client.Do(ctx, u.URL); ctx.Err() == nil {
					refused.Add(1)
				}
			})
		}
		time.Sleep(while)
		look()
		cancel()
		calls.Wait()
	}
	crowd(func() {}) // the runtime keeps what it needs for so many goroutines
	before := heap()
	w := Waiters{Name: stack.Name, Count: count}
	crowd(func() { w.During = float64(heap()-before) / float64(count) })
	w.After = float64(heap()-before) / float64(count)
	if n := refused.Load(); n > 0 { // who turns a crowd away has no memory of it
		return w, fmt.Errorf("%s: %d of two crowds of %d calls did not wait", stack.Name, n, count)
	}
	return w, nil
}

func heap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
