package httpclient

import (
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/internal/pipenet"
)

// idleServer is bubble with a server that closes idle connections after a time.
func idleServer(t *testing.T, plan capacity.Plan, idle time.Duration, o *Options, test func(*testing.T, *Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := pipenet.Listen()
		server := &http.Server{Handler: slow(0), IdleTimeout: idle}
		go server.Serve(l)
		c := newClient(t, "http://upstream.example", plan, withBase(o, &http.Transport{DialContext: l.Dial}))
		test(t, c)
		c.Close()
		server.Close()
		<-time.After(time.Hour) // for handlers to see it
	})
}

func TestIdleConnectionsAreClosedAfterTheirTime(t *testing.T) {
	for name, o := range map[string]*Options{"by default": nil, "by choice": {Idle: time.Second}} {
		bubble(t, capacity.Plan{InFlight: 10}, o, slow(0), func(t *testing.T, c *Client) {
			together(t, c, 10)
			<-time.After(c.core.options.Idle + time.Second)
			if got := c.Stats().Open; got != 0 {
				t.Errorf("%s: connections after %v idle = %d, want 0", name, c.core.options.Idle, got)
			}
		})
	}
}

func TestAThousandCallsNeedAConnectionForEachPlace(t *testing.T) {
	c, dials := counted(t, capacity.Plan{InFlight: 20}, "http", nil, slow(0))
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for range 50 {
				resp, err := get(t, c, "/")
				if err != nil {
					t.Error(err)
					return
				}
				read(t, resp)
			}
		})
	}
	wg.Wait()
	if got := dials(); got > 25 {
		t.Errorf("connections = %d, want 25 at the most", got)
	}
}

func TestClosingIdleConnectionsLeavesBusyOnes(t *testing.T) {
	bubble(t, capacity.Plan{InFlight: 3}, nil, slow(100*time.Millisecond), func(t *testing.T, c *Client) {
		together(t, c, 3)
		go together(t, c, 1)
		<-time.After(10 * time.Millisecond)
		c.CloseIdleConnections()
		synctest.Wait()
		if got := c.Stats().Open; got != 1 {
			t.Errorf("connections = %d, want 1", got)
		}
		<-time.After(time.Second)
	})
}
