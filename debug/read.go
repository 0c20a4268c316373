package debug

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/offtake-go/offtake/internal/redact"
)

// forgotten is how long a subject that no source shows any more keeps its
// history.
const forgotten = slot * slots

// current is the page as of now, read anew if the last reading is older than
// half a tick.
//
// It is tempting to read in a goroutine of the page's own, for all who look. But
// then somebody would have to end it, and while nobody looks there is no need.
func (p *Page) current(now time.Time) *document {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.latest != nil && now.Sub(p.read) < Tick/2 {
		return p.latest
	}
	r := reading{page: p, now: now, seen: make(map[string]int)}
	for i, source := range p.sources {
		if source == nil {
			continue
		}
		snapshot, err := read(source)
		if err != nil {
			r.add(&subject{Kind: "source", Name: fmt.Sprintf("source %d", i+1), Findings: findings{{bad, "unreadable", redact.Text(err.Error()), ""}}})
		}
		r.takeLocked(snapshot)
	}
	for id, t := range p.tracks {
		if now.Sub(t.seen) > forgotten {
			delete(p.tracks, id)
		}
	}
	p.read, p.latest = now, newDocument(now, r.subjects)
	return p.latest
}

// read keeps a source that panics from taking the process with it: a page for
// looking at trouble must not be its cause.
func read(source Source) (s Snapshot, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("it panicked: %v", v)
		}
	}()
	return source(), nil
}

// reading is one round through the sources.
type reading struct {
	page     *Page
	now      time.Time
	seen     map[string]int
	subjects []*subject
}

// id is the kind and the name, and a number for each further one of that name.
func (r *reading) id(kind, name string) string {
	id := kind + "/" + name
	if r.seen[id]++; r.seen[id] > 1 {
		id = fmt.Sprintf("%s/%d", id, r.seen[id])
	}
	return id
}

func (r *reading) add(s *subject) {
	if s.ID == "" {
		s.ID = r.id(s.Kind, s.Name)
	}
	s.Level = s.Findings[0].Level
	r.subjects = append(r.subjects, s)
}

func (r *reading) takeLocked(s Snapshot) {
	degraded := func(upstream string) bool {
		return slices.ContainsFunc(s.Upstreams, func(u Upstream) bool { return u.Name == upstream && u.Degraded != "" })
	}
	for _, g := range s.Gates {
		r.add(gateSubject(named(g), degraded))
	}
	for _, d := range s.Doors {
		d.Name, d.Flow = name(d.Name, "door"), finite(d.Flow)
		id := r.id("door", d.Name)
		t := r.page.trackLocked(id)
		w := t.add(r.now, Upstream{Flow: d.Flow})
		d.Flow = w.factors(d.Flow)
		subject := doorSubject(d, w)
		subject.ID, subject.slot = id, t.pushed
		r.add(subject)
	}
	for _, u := range s.Upstreams {
		u.Name, u.Flow = name(u.Name, "upstream"), finite(u.Flow)
		id := r.id("upstream", u.Name)
		t := r.page.trackLocked(id)
		w := t.add(r.now, u)
		u.Flow = w.factors(u.Flow)
		subject := upstreamSubject(u, w, r.now)
		subject.ID, subject.slot = id, t.pushed
		r.add(subject)
	}
}

func (p *Page) trackLocked(id string) *track {
	t := p.tracks[id]
	if t == nil {
		t = new(track)
		p.tracks[id] = t
	}
	return t
}

// name makes a name fit to be shown, as a text: it may come from anybody's registry.
func name(of, kind string) string {
	return cmp.Or(strings.TrimSpace(redact.Text(of)), "a nameless "+kind)
}

func named(g Gate) Gate {
	g.Name = name(cmp.Or(g.Name, "readiness"), "gate")
	g.Checks = slices.Clone(g.Checks)
	for i := range g.Checks {
		g.Checks[i].Name = name(g.Checks[i].Name, "check")
	}
	return g
}

// finite keeps what no traffic can be from spreading into every figure.
func finite(f Flow) Flow {
	for _, v := range []*float64{&f.Required, &f.Rate} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			*v = 0
		}
	}
	return f
}

// withHistory is a subject with the slots of its history from a number on; with
// none of them it is the subject itself.
func (p *Page) withHistory(s *subject, from uint64) *subject {
	p.mu.Lock()
	defer p.mu.Unlock()
	t := p.tracks[s.ID]
	if t == nil || s.slot <= from {
		return s
	}
	full := *s
	full.History = t.history(from, s.slot)
	return &full
}
