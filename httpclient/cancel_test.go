package httpclient

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestCallsAreCancelledByTheirCallersAtAnyPoint(t *testing.T) {
	plan := capacity.Plan{InFlight: 4, Queue: 64, Wait: time.Second}
	c, _ := loopback(t, plan, nil, func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, 100<<10))
	})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			for j := range 30 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration((i*30+j)%40)*100*time.Microsecond)
				req, _ := http.NewRequestWithContext(ctx, "GET", "/", nil)
				if resp, err := c.Do(req); err == nil {
					resp.Body.Read(make([]byte, 1000*(j%3)))
					resp.Body.Close()
				}
				cancel()
			}
		})
	}
	wg.Wait()
	wantIdle(t, c)
}
