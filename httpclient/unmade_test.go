package httpclient

import (
	"errors"
	"net/http"
	"net/url"
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

// A path alone goes to the target, and an error that has no more than the path would
// leave open to which.
func TestAnErrorNamesTheUpstreamOfAPathAlone(t *testing.T) {
	c := newClient(t, "http://127.0.0.1:1", capacity.Plan{InFlight: 1}, nil)
	req, _ := http.NewRequest("GET", "/a?b=c", nil)
	for method, tt := range map[string]struct {
		err  error
		want string
	}{
		"Do":       {second(c.Do(req)), "http://127.0.0.1:1/a?b=c"},
		"Get":      {second(c.Get("/a")), "http://127.0.0.1:1/a"},
		"Head":     {second(c.Head("/a")), "http://127.0.0.1:1/a"},
		"Post":     {second(c.Post("/a", "", nil)), "http://127.0.0.1:1/a"},
		"PostForm": {second(c.PostForm("/a", nil)), "http://127.0.0.1:1/a"},
		"whole":    {second(c.Get("http://127.0.0.1:1/b")), "http://127.0.0.1:1/b"},
		"foreign":  {second(c.Get("//other.example/b")), "//other.example/b"},
	} {
		if got, ok := errors.AsType[*url.Error](tt.err); !ok || got.URL != tt.want {
			t.Errorf("%s() = %v, want an error for %s", method, tt.err, tt.want)
		}
	}
}
