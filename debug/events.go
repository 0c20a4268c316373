package debug

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	mostStreams = 16               // open pages; a debug page must not become a load
	stuck       = 10 * time.Second // a page that takes nothing for so long is gone
)

// event is an update of the page: what changed, and the order of all.
type event struct {
	At       time.Time  `json:"at"`
	Headline string     `json:"headline"`
	Level    level      `json:"level"`
	Order    []string   `json:"order"`
	Changed  []*subject `json:"changed"`
}

// serveEvents sends what changed, each tick, until the reader leaves or the page
// is closed.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	if !p.open() {
		w.Header().Set("Retry-After", "10")
		http.Error(w, fmt.Sprintf("debug: %d pages are open already; close one", mostStreams), http.StatusTooManyRequests)
		return
	}
	defer p.leave()
	w.Header().Set("Content-Type", "text/event-stream")
	s := stream{page: p, out: http.NewResponseController(w), w: w, sent: make(map[string]sent)}
	tick := time.NewTicker(Tick)
	defer tick.Stop()
	for s.send(p.current(time.Now())) == nil {
		select {
		case <-r.Context().Done():
			return
		case <-p.closed:
			return
		case <-tick.C:
		}
	}
}

func (p *Page) open() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams >= mostStreams {
		return false
	}
	p.streams++
	return true
}

func (p *Page) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.streams--
}

// stream is one reader, and what it has of each subject.
type stream struct {
	page *Page
	w    http.ResponseWriter
	out  *http.ResponseController
	sent map[string]sent
}

type sent struct {
	body []byte
	slot uint64
}

// event is what the reader does not have yet.
func (s *stream) event(d *document) event {
	e := event{At: d.At, Headline: d.Headline, Level: d.Level, Order: []string{}, Changed: []*subject{}}
	had := s.sent
	s.sent = make(map[string]sent, len(had))
	for _, subject := range d.Subjects {
		e.Order = append(e.Order, subject.ID)
		body, err := json.Marshal(subject)
		if err != nil {
			panic(err) // every figure of a subject can be written
		}
		last := had[subject.ID]
		s.sent[subject.ID] = sent{body, subject.slot}
		if !bytes.Equal(body, last.body) || last.slot != subject.slot {
			e.Changed = append(e.Changed, s.page.withHistory(subject, last.slot))
		}
	}
	return e
}

func (s *stream) send(d *document) error {
	data, err := json.Marshal(s.event(d))
	if err != nil {
		return err
	}
	// A server without write deadlines is no reason not to update the page.
	_ = s.out.SetWriteDeadline(time.Now().Add(stuck))
	if _, err := fmt.Fprintf(s.w, "data: %s\n\n", data); err != nil {
		return err
	}
	return s.out.Flush()
}
