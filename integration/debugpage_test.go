package integration

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/offtake-go/offtake/debug"
	"github.com/offtake-go/offtake/internal/loopback"
)

const focused = `document.activeElement.id || document.activeElement.closest("details")?.id || document.activeElement.tagName`

// TestAnEngineerSeesWhatIsWrong has the page of a service that is overloaded open
// in a browser, as one would during the incident.
func TestAnEngineerSeesWhatIsWrong(t *testing.T) {
	processor, ledger := newUpstream(t, 250*time.Millisecond), newUpstream(t, 2*time.Millisecond)
	service := startService(t, processor.URL, ledger.URL)
	underLoad(t, service, 30)
	b := openBrowser(t)
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(service+"/debug/offtake"))
	wantScript(t, b, `/^card-processor is (slow|mis-sized) – queueing: needs [\d.]+ places, has \d/.test(document.getElementById("headline").innerText)`, true)

	// By keyboard alone: the headline leads to the worst, Enter closes and opens it.
	b.do(t, chromedp.KeyEvent(kb.Tab))
	wantScript(t, b, focused, "worst")
	b.do(t, chromedp.KeyEvent(kb.Enter))
	wantScript(t, b, `document.activeElement.tagName + document.querySelectorAll("details[open] table").length`, "SUMMARY1")
	b.do(t, chromedp.KeyEvent(kb.Enter))
	wantScript(t, b, `document.querySelectorAll("details[open]").length`, 0)
	b.do(t, chromedp.KeyEvent(kb.Enter))
	wantScript(t, b, `document.querySelectorAll("details[open] .charts figure").length`, 4) // after ten seconds

	// It updates, and the focus stays where it was.
	before := run(t, b, chromedp.TextContent(chromedp.CSS("#fresh")))
	wantScript(t, b, fmt.Sprintf(`document.getElementById("fresh").textContent !== %q`, before), true)
	wantScript(t, b, `document.activeElement.tagName`, "SUMMARY")
	b.wantNames(t)
	b.wantContrast(t)
	b.photograph(t, "incident")

	b.do(t, chromedp.EmulateViewport(390, 844))
	wantScript(t, b, `document.documentElement.scrollWidth <= 390`, true)
	b.photograph(t, "phone")
	b.wantQuietConsole(t)
}

// TestTwoHundredUpstreamsCanBeSearched uses a page of many, one of them broken.
func TestTwoHundredUpstreamsCanBeSearched(t *testing.T) {
	calls := uint64(0)
	page := debug.Handler(func() (s debug.Snapshot) {
		calls += 100
		for i := range 200 {
			u := debug.Upstream{Name: fmt.Sprintf("upstream-%03d", i)}
			u.Places, u.InFlight, u.Required = 24, 3, 4
			u.Outcomes = map[string]uint64{"2xx": calls}
			if i == 123 {
				u.Outcomes["tls"] = calls
				u.Failures = []debug.Failure{{Outcome: "tls", Text: "x509: certificate has expired", At: time.Now()}}
			}
			s.Upstreams = append(s.Upstreams, u)
		}
		return s
	})
	address := loopback.Free(t)
	server := serveAt(t, address, page)
	b := openBrowser(t)
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(server.URL))
	wantScript(t, b, `document.querySelectorAll("#list > li").length`, 200)
	wantScript(t, b, `document.querySelector("#list .badge").textContent + " " + document.querySelector("#list details").id`, "broken upstream/upstream-123")

	b.do(t, chromedp.Click(chromedp.CSS("#trouble")))
	wantScript(t, b, `document.querySelectorAll("#list > li:not([hidden])").length`, 1)
	b.do(t, chromedp.Click(chromedp.CSS("#trouble")), chromedp.SendKeys(chromedp.CSS("#filter"), "UPSTREAM-01"))
	wantScript(t, b, `document.querySelectorAll("#list > li:not([hidden])").length`, 10)
	b.do(t, chromedp.SendKeys(chromedp.CSS("#filter"), "no such"))
	wantScript(t, b, `document.getElementById("none").checkVisibility()`, true)
	b.do(t, chromedp.Click(chromedp.CSS("#worst"))) // what is searched for does not hide it
	wantScript(t, b, focused, "upstream/upstream-123")
	if text := run(t, b, chromedp.Text(chromedp.CSS("details[open]"))); !strings.Contains(text, "certificate has expired") {
		t.Errorf("the open row says %q, want its last error", text)
	}
	b.photograph(t, "many")
	b.wantQuietConsole(t)

	// When the process goes, the page says that it is old.
	page.Close()
	server.Close()
	wantScript(t, b, `document.body.className + " " + document.getElementById("fresh").textContent.slice(0, 13)`, "stale No connection")
	wantScript(t, b, `/^No connection. Before: upstream-123 is broken/.test(document.getElementById("headline").innerText)`, true)
	wantScript(t, b, `document.getElementById("said").textContent === document.getElementById("headline").textContent`, true)
	b.wantContrast(t)

	// When another takes its place, the page goes on with that one.
	serveAt(t, address, debug.Handler(func() debug.Snapshot { return debug.Snapshot{Gates: []debug.Gate{{State: "ready"}}} }))
	wantScript(t, b, `document.getElementById("headline").innerText + document.querySelectorAll("#list > li").length`, "All is well: 1 gate.1")
	wantScript(t, b, `document.body.className`, "")
}

// TestAPageThatIsRefusedSaysWhy has the server refuse the updates, as it does when too
// many have the page open.
func TestAPageThatIsRefusedSaysWhy(t *testing.T) {
	page := debug.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") == "text/event-stream" {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		page.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	b := openBrowser(t)
	b.do(t, chromedp.Navigate(server.URL))
	wantScript(t, b, `document.getElementById("fresh").textContent`, "No connection. The server refuses: perhaps too many have this page open. Trying again.")
	wantScript(t, b, `document.getElementById("headline").innerText`, "No connection.")
}

// serveAt serves a page at an address until the test ends.
func serveAt(t *testing.T, address string, page *debug.Page) *httptest.Server {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(page)
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	t.Cleanup(page.Close)
	return server
}
