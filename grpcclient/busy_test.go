package grpcclient

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/budget"
)

func TestABusyUpstreamIsNotBroken(t *testing.T) {
	var well atomic.Bool
	u := &upstream{call: func(_ context.Context, body []byte) ([]byte, error) {
		if well.Load() {
			return body, nil
		}
		return nil, status.Error(codes.ResourceExhausted, "busy")
	}}
	bubble(t, capacity.Plan{InFlight: 4}, nil, u, func(t *testing.T, c *Conn) {
		for range 500 {
			if err := ask(t.Context(), c); status.Code(err) != codes.ResourceExhausted {
				t.Fatalf("call = %v, want RESOURCE_EXHAUSTED, every time from the server", err)
			}
			<-time.After(10 * time.Millisecond)
		}
		well.Store(true)
		if err := ask(t.Context(), c); err != nil {
			t.Errorf("the first call once it is well = %v, want nil", err)
		}
	})
}

func TestAMessageThatIsTooLargeIsNotBusy(t *testing.T) {
	for name, body := range map[string]int{"received here": 5 << 20, "received there": 6 << 20} {
		t.Run(name, func(t *testing.T) {
			r := prometheus.NewRegistry()
			var served atomic.Int64
			u := &upstream{call: func(context.Context, []byte) ([]byte, error) {
				served.Add(1)
				return make([]byte, body), nil
			}}
			bubble(t, capacity.Plan{InFlight: 1}, &Options{Registerer: r}, u, func(t *testing.T, c *Conn) {
				sent := 1
				if name == "received there" {
					sent = body
				}
				err := c.Invoke(t.Context(), methodCall, wrapperspb.Bytes(make([]byte, sent)), new(wrapperspb.BytesValue))
				wantCode(t, err, codes.ResourceExhausted, TooLarge)
				wantCalls(t, r, "too_large", 1)
				if got := served.Load(); got > 1 {
					t.Errorf("attempts served = %d, want no retry", got)
				}
			})
		})
	}
}

// TestAProxyThatIsBusyStartsNoStorm has every call answered with a plain HTTP 429,
// which gRPC reads as UNAVAILABLE, and so as something to repeat.
func TestAProxyThatIsBusyStartsNoStorm(t *testing.T) {
	var answered atomic.Int64
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	proxy := &http.Server{Protocols: protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answered.Add(1)
		http.Error(w, "slow down", http.StatusTooManyRequests)
	})}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go proxy.Serve(l)
	t.Cleanup(func() { proxy.Close() })
	r := prometheus.NewRegistry()
	c := dial(t, l.Addr().String(), capacity.Plan{InFlight: 1}, &Options{Registerer: r, Methods: idempotent(codes.Unavailable)})
	for range 50 {
		wantCode(t, ask(t.Context(), c), codes.Unavailable, ProxyBusy)
	}
	if got := answered.Load(); got > 50+budget.Floor+50/10 {
		t.Errorf("requests for 50 calls = %d, want no more than the budget", got)
	}
	wantCalls(t, r, "proxy_busy", 50)
	if _, n := series(t, r, "offtake_client_retries_total", map[string]string{"reason": "proxy_busy"}); n == 0 {
		t.Error(`offtake_client_retries_total{reason="proxy_busy"} = 0, want the retries apart from others`)
	}
}
