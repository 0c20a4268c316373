package measure

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

// DeadAddress is what became of the first calls to a name with two addresses, of
// which the first swallows all that is sent to it.
type DeadAddress struct {
	Name     string  `json:"name"`
	Calls    int     `json:"calls"`
	Answered int     `json:"answered"`
	Slowest  float64 `json:"slowestAnswerMilliseconds"`
	Deadline float64 `json:"deadlineMilliseconds"`
}

// DeadAddresses sends each stack so many calls at once, and all stacks at the same
// time: the name is for the whole process.
func DeadAddresses(stacks []peers.HTTP, calls int, deadline time.Duration) ([]DeadAddress, error) {
	u := newUpstream(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "ok") })
	u.Start()
	defer u.Close()
	port := u.Listener.Addr().(*net.TCPAddr).Port
	hole, err := dig(2, port)
	if err != nil {
		return nil, err
	}
	defer hole.close()
	restore, err := named([4]byte{127, 0, 0, 2}, [4]byte{127, 0, 0, 1})
	if err != nil {
		return nil, err
	}
	defer restore()
	return each(stacks, func(stack peers.HTTP) (DeadAddress, error) {
		d := DeadAddress{Name: stack.Name, Calls: calls, Deadline: milliseconds(deadline)}
		url := fmt.Sprintf("http://upstream.example:%d", port)
		client, err := u.setUp(stack, url, peers.Sizes{InFlight: calls, Deadline: deadline})
		if err != nil {
			return d, err
		}
		defer client.Stop()
		var mu sync.Mutex
		var atOnce sync.WaitGroup
		for range calls {
			atOnce.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				defer cancel()
				start := time.Now()
				status, err := client.Do(ctx, url)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && status == http.StatusOK {
					d.Answered++
					d.Slowest = max(d.Slowest, milliseconds(time.Since(start)))
				}
			})
		}
		atOnce.Wait()
		return d, nil
	})
}
