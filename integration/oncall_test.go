package integration

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/factory"
)

// trouble is what happens to one upstream of several, and what the first line of the
// page must say of it: who it is, and which of the four kinds. Planned for each are
// 20 calls/s of 50 ms.
type trouble struct {
	name string
	rate float64                                       // of its calls
	act  func(t *testing.T, u *upstream, front string) // front is where the service calls it for whoever asks
	want string                                        // how the first line begins
	also string                                        // what else is in it
}

var troubles = []trouble{
	{"all is well", 15, nil, "All is well: ", ""},
	{"busy", 15, func(_ *testing.T, u *upstream, _ string) { u.status.Store(http.StatusTooManyRequests) }, "fraud-check is busy – ", "the upstream said so to "},
	{"slow", 20, func(_ *testing.T, u *upstream, _ string) { u.latency.Store(int64(300 * time.Millisecond)) }, "fraud-check is slow – ", " a call, planned 50 ms"},
	{"slower than its deadline", 4, func(_ *testing.T, u *upstream, _ string) { u.latency.Store(int64(3 * time.Second)) }, "fraud-check is slow – ", "ran out of time"},
	{"broken", 15, func(_ *testing.T, u *upstream, _ string) { u.status.Store(http.StatusInternalServerError) }, "fraud-check is broken – ", "calls failed"},
	{"gone", 15, func(_ *testing.T, u *upstream, _ string) { u.Listener.Close(); u.CloseClientConnections() }, "fraud-check is broken – ", "calls failed"},
	{"mis-sized", 120, nil, "fraud-check is mis-sized – queueing: needs ", "/s, planned 20/s"},
	{"busy in bursts", 0, func(t *testing.T, _ *upstream, front string) { burst(t, front) }, "fraud-check is busy – ", ""},
}

// TestTheFirstLineSaysWhichUpstreamAndOfWhatKind has the causes of the incidents
// happen to one upstream, with healthy ones beside it, and reads what an engineer
// reads first, as text and in a browser.
func TestTheFirstLineSaysWhichUpstreamAndOfWhatKind(t *testing.T) {
	var browsing sync.Mutex // one at a time
	for _, c := range troubles {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			page := replay(t, c)
			var first string
			eventually(t, 90*time.Second, "the first line says so", func() (any, bool) {
				said := curl(t.Context(), page)
				first, _, _ = strings.Cut(said, "\n")
				return said, strings.HasPrefix(first, c.want) && strings.Contains(first, c.also)
			})
			t.Log(first)
			browsing.Lock()
			t.Cleanup(browsing.Unlock)
			b := openBrowser(t)
			b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(page))
			wantScript(t, b, fmt.Sprintf(`document.getElementById("headline").innerText.startsWith(%q)`, c.want), true)
			if c.want != troubles[0].want {
				b.do(t, chromedp.Click(chromedp.CSS("#worst")))
				wantScript(t, b, focused, "upstream/fraud-check")
				wantScript(t, b, `document.querySelector("#list .badge").className`, "badge bad")
			}
			wantScript(t, b, `document.body.innerText.includes("undefined")`, false)
			b.photograph(t, strings.ReplaceAll(c.name, " ", "-"))
		})
	}
}

// replay runs a service with five upstreams, of which fraud-check gets into trouble,
// and returns the address of its page.
func replay(t *testing.T, c trouble) (page string) {
	t.Helper()
	upstreams := map[string]*upstream{}
	var file strings.Builder
	file.WriteString("service: checkout\nreplicas: {min: 1, max: 1}\n" +
		"callers: {web: {rate: 100/s, deadline: 3s}}\ndoor: {inFlight: 200, queue: 50, wait: 100ms, deadline: 2s}\nupstreams:\n")
	for _, name := range []string{"audit", "card-processor", "fraud-check", "ledger", "stock"} {
		upstreams[name] = newUpstream(t, 50*time.Millisecond)
		fmt.Fprintf(&file, "  %s: {target: %q, rate: 20/s, latency: 50ms, limit: 4, deadline: 1s}\n", name, upstreams[name].URL)
	}
	service := serveContract(t, file.String(), each)
	eventually(t, 20*time.Second, "the service is ready", func() (any, bool) {
		said := curl(t.Context(), service+"/readyz")
		return said, said == "ready\n"
	})
	for _, name := range slices.Sorted(maps.Keys(upstreams)) {
		front, rate := service+"/"+name, 5.0
		if name == "fraud-check" {
			rate = c.rate
			if c.act != nil {
				c.act(t, upstreams[name], front)
			}
		}
		if rate > 0 {
			underLoad(t, front, rate)
		}
	}
	return service + "/debug/offtake"
}

// each calls the upstream that the path names.
func each(service *factory.Service) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := call(r.Context(), service, strings.TrimPrefix(r.URL.Path, "/")); err != nil {
			admission.WriteError(w, err)
		}
	})
}

// burst makes thirty calls at once every two seconds, until the test ends: fewer than
// were planned for, and more than can wait.
func burst(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	call := getter(t, url)
	running.Go(func() {
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			for range 30 {
				running.Go(func() { call(ctx) })
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// curl is what curl shows.
func curl(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
