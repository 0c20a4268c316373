package gate

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// model is what a gate must do, one call at a time and without any clock.
type model struct {
	places, limit, inFlight int
	queue                   []*call
}

func (m *model) enter(c *call) string {
	switch {
	case m.inFlight < m.places && len(m.queue) == 0:
		m.inFlight++
		return "in"
	case len(m.queue) >= m.limit:
		return "queue_full"
	}
	m.queue = append(m.queue, c)
	return ""
}

func (m *model) serve() {
	for m.inFlight < m.places && len(m.queue) > 0 {
		m.queue[0].want = "in"
		m.queue, m.inFlight = m.queue[1:], m.inFlight+1
	}
}

func (m *model) drop(gone func(*call) bool, as string) {
	kept := m.queue[:0]
	for _, c := range m.queue {
		if gone(c) {
			c.want = as
		} else {
			kept = append(kept, c)
		}
	}
	m.queue = kept
}

type call struct {
	cancel    context.CancelFunc
	since     time.Time
	done      chan string
	got, want string
}

func (c *call) poll() string {
	select {
	case c.got = <-c.done:
	default:
	}
	return c.got
}

// FuzzAgreesWithTheModel plays a script, two bytes a step, on a gate and on the
// model, and compares them after each step.
func FuzzAgreesWithTheModel(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 0})
	f.Add([]byte{0, 0, 0, 0, 0, 0, 3, 50, 0, 0, 3, 60, 4, 1, 1, 0})
	f.Add([]byte{4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 1, 0, 1, 0, 1, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 400)] // longer ones find nothing new
		synctest.Test(t, func(t *testing.T) { play(t, script) })
	})
}

func play(t *testing.T, script []byte) {
	const wait = 100 * time.Millisecond
	m := &model{places: 1, limit: 2}
	g := New(Limits{Places: m.places, Queue: m.limit, Wait: wait})
	var calls []*call
	for i := 0; i+1 < len(script); i += 2 {
		op, arg := script[i]%5, int(script[i+1])
		switch op {
		case 0: // a caller arrives
			ctx, cancel := context.WithCancel(t.Context())
			c := &call{cancel: cancel, since: time.Now(), done: make(chan string, 1)}
			calls = append(calls, c)
			go func() { c.done <- outcome(g.Enter(ctx)) }()
			synctest.Wait()
			if c.poll() == "late" && len(m.queue) > 0 {
				c.want = "late" // the estimate has tests of its own
			} else {
				c.want = m.enter(c)
			}
		case 1: // one inside leaves
			if m.inFlight > 0 {
				m.inFlight--
				g.Leave()
			}
		case 2: // one in the queue gives up
			if n := len(m.queue); n > 0 {
				gone := m.queue[arg%n]
				gone.cancel()
				m.drop(func(c *call) bool { return c == gone }, "canceled")
			}
		case 3: // time passes
			<-time.After(time.Duration(arg) * time.Millisecond)
			m.drop(func(c *call) bool { return time.Since(c.since) >= wait }, "wait")
		case 4: // other limits
			m.places, m.limit = 1+arg%4, arg/4%4
			g.Resize(Limits{Places: m.places, Queue: m.limit, Wait: wait})
		}
		m.serve()
		synctest.Wait()
		compare(t, fmt.Sprintf("step %d, op %d", i/2, op), g, m, calls)
	}
	g.Close()
	synctest.Wait()
}

func compare(t *testing.T, step string, g *Gate, m *model, calls []*call) {
	t.Helper()
	if s := g.Snapshot(); s.InFlight != m.inFlight || s.Waiting != len(m.queue) {
		t.Fatalf("%s: in flight, waiting = %d, %d, want %d, %d", step, s.InFlight, s.Waiting, m.inFlight, len(m.queue))
	}
	for i, c := range calls {
		if c.poll() != c.want {
			t.Fatalf("%s: call %d = %q, want %q", step, i, c.got, c.want)
		}
	}
}

func outcome(_ time.Duration, err error) string {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal.Reason.String()
	}
	if errors.Is(err, context.Canceled) {
		return "canceled"
	}
	return "in"
}
