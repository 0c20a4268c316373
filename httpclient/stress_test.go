package httpclient

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pool"
)

// TestNothingIsLostWhateverHappensAtOnce has callers that cancel, leak, close
// early and read on, an upstream that does as badly, and a plan that changes
// meanwhile. Afterwards every place and every slot must be back.
func TestNothingIsLostWhateverHappensAtOnce(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		switch rand.IntN(8) {
		case 0:
			w.Header().Set("Connection", "close")
		case 1:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			w.Write(make([]byte, 200<<10))
			panic(http.ErrAbortHandler)
		case 4:
			io.Copy(w, r.Body)
		case 5:
			w.Write(make([]byte, 100<<10))
		}
	}
	for _, protocol := range []string{"http", "https", "HTTP/2.0"} {
		plan := capacity.Plan{InFlight: 6, Queue: 20, Deadline: 200 * time.Millisecond, BodyIdle: 100 * time.Millisecond, RetryShare: 1}
		c, _ := counted(t, plan, protocol, &Options{MaxAge: 50 * time.Millisecond, Idle: 40 * time.Millisecond}, handler)
		c.Warm(t.Context())
		var wg sync.WaitGroup
		for range 12 {
			wg.Go(func() {
				for range 60 {
					anyCall(t, c)
				}
			})
		}
		wg.Go(func() {
			for i := range 40 {
				<-time.After(5 * time.Millisecond)
				plan.InFlight = 1 + i*7%9
				if err := c.Resize(plan); err != nil {
					t.Error(err)
				}
				c.CloseIdleConnections()
			}
		})
		wg.Wait()
		eventually(t, protocol+": all places back", func() bool { s := c.Stats(); return s.InFlight == 0 && s.Queued == 0 })
		c.Close()
		eventually(t, protocol+": all slots back", func() bool { return c.core.pool.Counts() == pool.Counts{} })
	}
}

// anyCall makes one call in one of many ways, all of which a caller may have.
func anyCall(t *testing.T, c *Client) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(60)+1)*time.Millisecond)
	defer cancel()
	if rand.IntN(4) == 0 {
		ctx = Stream(ctx)
	}
	method, body := http.MethodGet, io.Reader(nil)
	switch rand.IntN(3) {
	case 0:
		method, body = http.MethodPut, strings.NewReader(strings.Repeat("x", 10<<10))
	case 1:
		method, body = http.MethodPost, io.MultiReader(strings.NewReader("once"))
	}
	req, _ := http.NewRequestWithContext(ctx, method, "/", body)
	resp, err := c.Do(req)
	if err != nil {
		return
	}
	switch rand.IntN(4) {
	case 0:
		return // leaked
	case 1:
		resp.Body.Read(make([]byte, 10))
	case 2:
		io.Copy(io.Discard, resp.Body)
	}
	resp.Body.Close()
}
