package httpclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/offtake-go/offtake/internal/clienttest"
)

func TestHasTheBehavioursThatAllClientsHave(t *testing.T) {
	clienttest.Run(t, clienttest.Subject{Open: func(t *testing.T, s clienttest.Setup) clienttest.Client {
		l := newPipeServer(t, func(w http.ResponseWriter, r *http.Request) {
			if s.Handle(r.Context()) != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		o := &Options{Wrap: func(next http.RoundTripper) http.RoundTripper {
			return before{s.Before, next}
		}}
		c := newClient(t, "http://upstream.example", s.Plan, withBase(o, &http.Transport{DialContext: l.Dial}))
		return clienttest.Client{
			Call:     func(ctx context.Context) error { return postOnce(ctx, c) },
			Load:     func() (int, int) { now := c.Stats(); return now.InFlight, now.Queued },
			Resize:   c.Resize,
			Shutdown: c.Shutdown,
			Close:    c.Close,
		}
	}})
}

// postOnce is one POST, which is not repeated, and its whole answer; a failure of the
// server is an error.
func postOnce(ctx context.Context, c *Client) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	return nil
}

// before is a transport that runs something before each attempt.
type before struct {
	run  func()
	next http.RoundTripper
}

func (b before) RoundTrip(req *http.Request) (*http.Response, error) {
	if b.run != nil {
		b.run()
	}
	return b.next.RoundTrip(req)
}
