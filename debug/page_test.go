package debug

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/offtake-go/offtake/internal/pipenet"
)

func ask(h http.Handler, method, path, accept string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, path, nil)
	r.Header.Set("Accept", accept)
	h.ServeHTTP(w, r)
	return w
}

// some is a source with one of each kind, an upstream in trouble.
func some() Snapshot {
	u := Upstream{Name: "card-processor", Target: "https://user:secret@processor.example/pay?key=secret"}
	u.Places, u.InFlight, u.Queued, u.Required = 10, 10, 12, 28
	u.Outcomes = map[string]uint64{"2xx": 100}
	u.Failures = []Failure{{Outcome: "reset", Text: `Get "https://user:secret@processor.example/pay?key=secret": EOF`, At: time.Now()}}
	return Snapshot{
		Upstreams: []Upstream{u},
		Doors:     []Door{{Name: "door", Flow: Flow{Places: 64, Required: 1, InFlight: 1}}},
		Gates:     []Gate{{State: "ready"}},
	}
}

func TestOneAddressAnswersInTheFormThatIsAccepted(t *testing.T) {
	page := Handler(some)
	for _, c := range []struct{ accept, contentType, has string }{
		{"text/html,*/*;q=0.8", "text/html; charset=utf-8", "<!doctype html>"},
		{"application/json", "application/json", `"headline":"card-processor is mis-sized – queueing: needs 28 places, has 10"`},
		{"*/*", "text/plain; charset=utf-8", "card-processor is mis-sized – queueing: needs 28 places, has 10\n"},
	} {
		w := ask(page, "GET", "/debug/offtake", c.accept)
		if w.Code != 200 || w.Header().Get("Content-Type") != c.contentType || !strings.Contains(w.Body.String(), c.has) {
			t.Errorf("GET with Accept %q = %d %s\n%s\nwant 200 %s with %q in it", c.accept, w.Code, w.Header().Get("Content-Type"), w.Body, c.contentType, c.has)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Vary") != "Accept" {
			t.Errorf("GET with Accept %q: headers %v, want no-store, and Vary: Accept", c.accept, w.Header())
		}
		if strings.Contains(w.Body.String(), "secret") {
			t.Errorf("GET with Accept %q shows what is secret:\n%s", c.accept, w.Body)
		}
	}
}

func TestThePagesFilesAreBesideItWhereverItIsMounted(t *testing.T) {
	for _, path := range []string{"/debug/offtake", "/debug/offtake/", "/"} {
		for query, contentType := range map[string]string{"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"} {
			w := ask(Handler(), "GET", path+"?"+query, "*/*")
			if w.Code != 200 || w.Header().Get("Content-Type") != contentType || w.Body.Len() < 1000 {
				t.Errorf("GET %s?%s = %d, %d bytes of %s, want 200 and some %s", path, query, w.Code, w.Body.Len(), w.Header().Get("Content-Type"), contentType)
			}
		}
	}
	html := ask(Handler(), "GET", "/", "text/html").Body.String()
	for _, inline := range []string{"<style", "style=", "onclick", "javascript:", "http:", "https:"} {
		if strings.Contains(html, inline) {
			t.Errorf("the page has %q in it, which its policy forbids", inline)
		}
	}
}

// TestNothingComesFromElsewhere holds the policy as a whole: a word more in it can undo
// the rest.
func TestNothingComesFromElsewhere(t *testing.T) {
	want := map[string]string{
		"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
			"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
		"X-Content-Type-Options":       "nosniff",
		"Referrer-Policy":              "no-referrer",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Cache-Control":                "no-store",
	}
	for what, got := range map[string]*httptest.ResponseRecorder{
		"the page":   ask(Handler(), "GET", "/", "text/html"),
		"its script": ask(Handler(), "GET", "/?page.js", "*/*"),
		"JSON":       ask(Handler(), "GET", "/", "application/json"),
		"text":       ask(Handler(), "GET", "/", "*/*"),
		"a refusal":  ask(Handler(), "POST", "/", "*/*"),
	} {
		for name, value := range want {
			if has := got.Header().Get(name); has != value {
				t.Errorf("%s: %s = %q, want %q", what, name, has, value)
			}
		}
	}
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		page := Handler(func() Snapshot {
			n++
			return Snapshot{Upstreams: []Upstream{{Name: fmt.Sprint("upstream of reading ", n)}}}
		})
		for range 3 {
			ask(page, "GET", "/", "*/*")
			<-time.After(forgotten/2 + Tick)
		}
		ask(page, "GET", "/", "*/*")
		if got := len(page.tracks); got != 2 {
			t.Errorf("the page remembers %d upstreams, want the two that were there in the last ten minutes", got)
		}
	})
}

func TestThePageCanOnlyBeRead(t *testing.T) {
	page := Handler(func() Snapshot { t.Error("a source was read"); return Snapshot{} })
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH"} {
		if w := ask(page, method, "/", "application/json"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s = %d, want 405 and Allow: GET, HEAD", method, w.Code)
		}
	}
	if w := ask(Handler(some), "HEAD", "/", "text/event-stream"); w.Code != 200 {
		t.Errorf("HEAD of the updates = %d, want 200, at once", w.Code)
	}
}

func TestEveryFigureCanBeWritten(t *testing.T) {
	u := Upstream{Name: "odd", RetryBalance: math.Inf(1)}
	u.Required, u.Rate, u.Places = math.NaN(), math.Inf(1), -1
	page := Handler(nil, func() Snapshot { return Snapshot{Upstreams: []Upstream{u, u}} }, func() Snapshot { panic("a nil map") })
	w := ask(page, "GET", "/", "application/json")
	for _, want := range []string{`"id":"upstream/odd"`, `"id":"upstream/odd/2"`, `"name":"source 3"`, "it panicked: a nil map"} {
		if !json.Valid(w.Body.Bytes()) || !strings.Contains(w.Body.String(), want) {
			t.Errorf("JSON of odd figures = %s, want %s in it", w.Body, want)
		}
	}
}

func TestAnEmptyPageSaysSo(t *testing.T) {
	if got, want := ask(Handler(), "GET", "/", "*/*").Body.String(), "Nothing to show"; !strings.HasPrefix(got, want) {
		t.Errorf("GET = %q, want it to begin with %q", got, want)
	}
	calm := func() Snapshot {
		return Snapshot{Gates: []Gate{{State: "ready"}}, Doors: []Door{{Name: "a"}, {Name: "b"}}}
	}
	if got, want := ask(Handler(calm), "GET", "/", "*/*").Body.String(), "All is well: 1 gate, 2 doors.\n"; !strings.HasPrefix(got, want) {
		t.Errorf("GET = %q, want it to begin with %q", got, want)
	}
}

func TestWhatIsWorthKnowingIsInTheFirstLine(t *testing.T) {
	draining := func() Snapshot { return Snapshot{Gates: []Gate{{State: "draining"}}, Doors: []Door{{Name: "a"}}} }
	want := "All is well: 1 gate, 1 door. To know: readiness, draining – closed for good; the balancer sends no more.\n"
	if got := ask(Handler(draining), "GET", "/", "*/*").Body.String(); !strings.HasPrefix(got, want) {
		t.Errorf("GET = %q, want it to begin with %q", got, want)
	}
	without := func() Snapshot {
		return Snapshot{
			Gates:     []Gate{{State: "ready", Checks: []Check{{Name: "audit", Passed: true, Degraded: true, Err: "refused"}}}},
			Upstreams: []Upstream{{Name: "audit", Degraded: "refused"}},
		}
	}
	want = "audit is degraded – the process takes traffic without it: it is not warm\n"
	if got := ask(Handler(without), "GET", "/", "*/*").Body.String(); !strings.HasPrefix(got, want) {
		t.Errorf("GET = %q, want it to begin with %q", got, want)
	}
}

// A name may come from anybody's registry, and curl shows it in a terminal.
func TestNoNameCanChangeHowThePageReads(t *testing.T) {
	hostile := func() Snapshot {
		odd := "a\x1b[2Jb\u202ec\n" + strings.Repeat("long ", 2000)
		return Snapshot{
			Upstreams: []Upstream{{Name: odd}, {Name: ""}}, Doors: []Door{{Name: odd}},
			Gates: []Gate{{Name: odd, Checks: []Check{{Name: odd}}}},
		}
	}
	for _, accept := range []string{"*/*", "application/json"} {
		text := ask(Handler(hostile), "GET", "/", accept).Body.String()
		if strings.ContainsAny(text, "\x1b\u202e") || strings.Contains(text, `\u`) || len(text) > 10_000 || !strings.Contains(text, "a nameless upstream") {
			t.Errorf("GET of hostile names with Accept %q = %d bytes:\n%s", accept, len(text), text)
		}
	}
}

func TestSourcesAreReadOnceForAllWhoLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		page := Handler(func() Snapshot { reads++; return some() })
		for range 10 {
			ask(page, "GET", "/", "application/json")
		}
		if reads != 1 {
			t.Errorf("ten requests at once read the source %d times, want once", reads)
		}
		<-time.After(Tick)
		if ask(page, "GET", "/", "*/*"); reads != 2 {
			t.Errorf("a request after a tick made it %d reads, want 2", reads)
		}
	})
}

func TestRunKeepsAHistoryForWhoComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := Handler(some)
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() { ended <- page.Run(ctx) }()
		<-time.After(20 * time.Minute)
		var d struct {
			Subjects []struct {
				ID      string
				History *struct{ InFlight []float64 }
			}
		}
		body := ask(page, "GET", "/", "application/json").Body.Bytes()
		if err := json.Unmarshal(body, &d); err != nil {
			t.Fatal(err)
		}
		if h := d.Subjects[0].History; d.Subjects[0].ID != "upstream/card-processor" || h == nil || len(h.InFlight) != slots || h.InFlight[0] != 10 {
			t.Errorf("after 20 min: %s, want the upstream first, with %d slots of 10 in flight", body, slots)
		}
		stopped := errors.New("stopped")
		cancel(stopped)
		if err := <-ended; err != stopped {
			t.Errorf("Run() = %v, want %v", err, stopped)
		}
		go func() { ended <- page.Run(t.Context()) }()
		page.Close()
		page.Close()
		if err := <-ended; err != nil {
			t.Errorf("Run() after Close = %v, want nil", err)
		}
	})
}

// events opens the updates, and returns a function that reads one.
func events(t *testing.T, url string) (next func() event, status int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	in := bufio.NewReader(resp.Body)
	return func() event {
		t.Helper()
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		var e struct {
			Headline string
			Order    []string
			Changed  []struct{ ID string }
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &e); err != nil {
			t.Fatalf("event %q: %v", line, err)
		}
		in.ReadString('\n')
		got := event{Headline: e.Headline, Order: e.Order}
		for _, s := range e.Changed {
			got.Changed = append(got.Changed, &subject{ID: s.ID})
		}
		return got
	}, resp.StatusCode
}

func TestUpdatesHaveWhatChangedAndTheOrderOfAll(t *testing.T) {
	n := 0
	page := Handler(func() Snapshot {
		s := some()
		if s.Upstreams[0].Failures = nil; n > 0 {
			s.Doors = nil
			s.Upstreams[0].Queued = 13
		}
		n++
		return s
	})
	srv := httptest.NewServer(page)
	defer srv.Close()
	defer page.Close()
	next, _ := events(t, srv.URL)
	if e := next(); len(e.Changed) != 3 || e.Order[0] != "upstream/card-processor" {
		t.Errorf("first event = %d subjects, the first is %s, want all 3, the worst first", len(e.Changed), e.Order[0])
	}
	if e := next(); len(e.Changed) != 1 || e.Changed[0].ID != "upstream/card-processor" || len(e.Order) != 2 {
		t.Errorf("second event = %v of %v, want the upstream alone of the two there are", e.Changed, e.Order)
	}
}

func TestAnOpenPageDoesNotHoldUpShutdown(t *testing.T) {
	page := Handler(some)
	srv := httptest.NewServer(page)
	defer srv.Close()
	srv.Config.RegisterOnShutdown(page.Close)
	next, _ := events(t, srv.URL)
	next()
	if err := srv.Config.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown() = %v, want nil", err)
	}
}

func TestMorePagesThanABoundAreRefused(t *testing.T) {
	page := Handler(some)
	srv := httptest.NewServer(page)
	defer srv.Close()
	defer page.Close()
	for i := range mostStreams {
		next, status := events(t, srv.URL)
		if next(); status != 200 {
			t.Fatalf("page %d = %d, want 200", i, status)
		}
	}
	if _, status := events(t, srv.URL); status != 429 {
		t.Errorf("page %d = %d, want 429", mostStreams, status)
	}
}

func TestAReaderThatTakesNothingIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := Handler(some)
		l, srv := pipenet.Listen(), &http.Server{Handler: page}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		conn, err := l.Dial(t.Context(), "", "")
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: page\r\nAccept: text/event-stream\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		open := func() int {
			page.mu.Lock()
			defer page.mu.Unlock()
			return page.streams
		}
		synctest.Wait()
		if got := open(); got != 1 {
			t.Errorf("%d pages are open, want 1", got)
		}
		<-time.After(stuck)
		synctest.Wait()
		if got := open(); got != 0 {
			t.Errorf("%d pages are open after %v in which nothing was taken, want 0", got, stuck)
		}
		srv.Close()
		<-served
	})
}

func ExampleHandler() {
	page := Handler(func() Snapshot {
		u := Upstream{Name: "card-processor"}
		u.Places, u.InFlight, u.Queued = 10, 10, 12
		u.Rate, u.Hold, u.Required = 23, 1200*time.Millisecond, 27.6
		return Snapshot{Upstreams: []Upstream{u}}
	})
	srv := httptest.NewServer(page)
	defer srv.Close()
	resp, err := http.Get(srv.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	fmt.Println(strings.Join(strings.Split(string(text), "\n")[:5], "\n"))
	// Output:
	// card-processor is mis-sized – queueing: needs 28 places, has 10
	//
	// upstream card-processor
	//   bad: mis-sized: queueing: needs 28 places, has 10
	//     23/s that hold a place for 1.2 s each; 12 wait
}
