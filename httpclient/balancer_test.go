package httpclient

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestConnectionsToABadInstanceBehindOneAddressAreDialedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		well := newPipeServer(t, slow(10*time.Millisecond))
		var failed, calls, dials atomic.Int32
		bad := newPipeServer(t, func(w http.ResponseWriter, _ *http.Request) {
			failed.Add(1)
			w.WriteHeader(http.StatusInternalServerError)
		})
		c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 6, Attempts: capacity.NoRetry}, withBase(nil, &http.Transport{
			DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				if dials.Add(1)%3 == 0 {
					return bad.Dial(ctx, network, address)
				}
				return well.Dial(ctx, network, address)
			},
		}))
		run := func(long time.Duration) {
			for end := time.Now().Add(long); time.Now().Before(end); calls.Add(4) {
				together(t, c, 4)
				<-time.After(time.Millisecond)
			}
		}
		together(t, c, 6)
		run(10 * time.Second)
		failed.Store(0)
		calls.Store(0)
		before := dials.Load()
		run(20 * time.Second)
		if got := float64(failed.Load()) / float64(calls.Load()); got > 0.05 {
			t.Errorf("%.3f of %d calls failed, want 0.05 at the most", got, calls.Load())
		}
		if got := dials.Load() - before; got > 20 {
			t.Errorf("dials in 20 s = %d, want one a second at the most", got)
		}
	})
}
