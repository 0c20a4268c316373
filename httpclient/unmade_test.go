package httpclient

import (
	"errors"
	"net/http"
	"testing"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
)

func TestANilOrZeroClientFailsAndDoesNotPanic(t *testing.T) {
	for name, c := range map[string]*Client{"nil": nil, "zero": {}} {
		req, _ := http.NewRequest("GET", "http://upstream.example/", nil)
		for method, err := range map[string]error{
			"Do":       second(c.Do(req)),
			"Get":      second(c.Get("http://upstream.example/")),
			"Head":     second(c.Head("http://upstream.example/")),
			"Post":     second(c.Post("http://upstream.example/", "", nil)),
			"PostForm": second(c.PostForm("http://upstream.example/", nil)),
			"Warm":     c.Warm(t.Context()),
			"Resize":   c.Resize(capacity.Plan{InFlight: 1}),
			"Shutdown": c.Shutdown(t.Context()),
			"Close":    c.Close(),
		} {
			if !errors.Is(err, errUnmade) {
				t.Errorf("%s client: %s() = %v, want %v", name, method, err, errUnmade)
			}
		}
		c.Observe(true)
		c.CloseIdleConnections()
		if got := c.Stats(); got != (Stats{}) {
			t.Errorf("%s client: Stats() = %+v, want nothing", name, got)
		}
	}
}

func second(_ *http.Response, err error) error { return err }

func TestACopyIsTheSameClient(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, slow(0))
	copied := *c
	resp, err := copied.Get("/")
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Stats().InFlight; got != 1 {
		t.Errorf("in flight after a call of the copy = %d, want 1", got)
	}
	read(t, resp)
	copied.Close()
	if _, err := c.Get("/"); !errors.Is(err, offtake.ErrClosed) {
		t.Errorf("after Close of the copy = %v, want ErrClosed", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("a second Close() = %v, want nil", err)
	}
}
