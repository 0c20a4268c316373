package debug

import (
	"context"
	"net/http"
	"sync"
	"time"
)

const (
	// Tick is how often the page reads its sources while somebody looks, or Run runs.
	Tick = 2 * time.Second

	slot     = 10 * time.Second // of the history
	slots    = 60               // ten minutes
	baseline = 7                // slots kept whole: six of them, and the one being filled, are the last minute
)

// Page shows what its sources read. It is an http.Handler; make one with
// [Handler]. All methods may be called from any goroutine.
//
// A page keeps about 6 KB of history for each upstream with eight outcomes.
type Page struct {
	sources []Source
	closed  chan struct{}
	close   func()

	mu      sync.Mutex // held while sources are read
	tracks  map[string]*track
	read    time.Time
	latest  *document
	streams int
}

// Handler returns the page of what the sources read. It reads nothing yet and
// starts no goroutine: without [Page.Run], the history begins when somebody
// first looks. Nil sources are passed over.
func Handler(sources ...Source) *Page {
	p := &Page{sources: sources, closed: make(chan struct{}), tracks: make(map[string]*track)}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Run reads the sources each [Tick] until ctx ends or the page is closed, so that
// who looks for the first time during an incident sees the ten minutes before. It
// returns context.Cause(ctx), or nil after Close.
func (p *Page) Run(ctx context.Context) error {
	tick := time.NewTicker(Tick)
	defer tick.Stop()
	for {
		p.current(time.Now())
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.closed:
			return nil
		case <-tick.C:
		}
	}
}

// Close ends Run and the updates of every open page, which http.Server.Shutdown
// would wait for. The page still answers what it is asked. Close may be called
// again.
func (p *Page) Close() { p.close() }

// ServeHTTP answers GET and HEAD in the form that the request accepts: see the
// package's "One address".
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Content-Security-Policy", policy)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "debug: this page can only be read", http.StatusMethodNotAllowed)
		return
	}
	if name, ok := assetOf(r.URL.RawQuery); ok {
		serveAsset(w, name)
		return
	}
	switch form := accepted(r.Header.Values("Accept")); {
	case form == "text/event-stream" && r.Method == http.MethodGet:
		p.serveEvents(w, r)
	case form == "text/html":
		serveAsset(w, "page.html")
	case form == "application/json":
		p.serveJSON(w)
	default:
		p.serveText(w)
	}
}
