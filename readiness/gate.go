package readiness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Gate says whether this process may have traffic. Its zero value is ready for
// use: it warms until [Gate.Run] has seen every check pass. All methods may be
// called from any goroutine; a Gate must not be copied.
//
// A Gate is an http.Handler: see [Gate.ServeHTTP].
type Gate struct {
	mu       sync.Mutex
	state    State
	checks   []*check
	started  time.Time // of Run
	stop     context.CancelCauseFunc
	opened   chan struct{} // both are made when first asked for
	draining chan struct{}
}

// State is where a gate is. It only ever goes forward.
type State uint8

// The states, in their order.
const (
	Warming  State = iota // some check has not passed yet
	Ready                 // open
	Draining              // closed for good
)

// String is "warming", "ready" or "draining".
func (s State) String() string {
	switch s {
	case Warming:
		return "warming"
	case Ready:
		return "ready"
	default:
		return "draining"
	}
}

// check is one condition for opening. The gate's mutex guards all but the first
// two fields.
type check struct {
	name     string
	run      func(context.Context) error
	mistake  bool // err says which; it never runs
	passed   bool
	attempts int
	err      error
	took     time.Duration // from Run until it passed
	without  error         // see Degrade
}

// Add requires that check passes once before the gate opens. The name is for
// people and metrics. Add before Run, and wire a client's Warm like this:
//
//	ready.Add("card-processor", processor.Warm)
//
// A check must obey its context, which ends after 30 s, and is then tried again;
// one that panics ends the process, as in any goroutine.
// An empty or repeated name, a nil check, and a check that comes after Run are
// mistakes: they keep the gate shut, if it is not open yet, and Run and the
// verbose answer name them.
func (g *Gate) Add(name string, run func(context.Context) error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	c := &check{name: name, run: run}
	switch {
	case name == "":
		c.err = errors.New(`its name is empty; the upstream's would do, as in Add("card-processor", …)`)
	case slices.ContainsFunc(g.checks, func(other *check) bool { return other.name == name }):
		c.err = errors.New("another check has this name; give each its upstream's")
	case run == nil:
		c.err = errors.New("it is nil; a client's Warm would do")
	case g.stop != nil:
		c.err = errors.New("it was added after Run; add all checks before")
	}
	c.mistake = c.err != nil
	g.checks = append(g.checks, c)
}

// Degrade says that the process does without what a check is about, and why: the
// check has returned nil so that the gate may open, or what it saw was lost since.
// Nil takes it back. The gate stays where it is; but whoever looks at it, in
// [Gate.Stats] or the verbose answer, is told. A name that no check has is passed
// over.
func (g *Gate) Degrade(name string, why error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, c := range g.checks {
		if c.name == name {
			c.without = why
		}
	}
}

// mistakesLocked are all that Add noted.
func (g *Gate) mistakesLocked() error {
	var errs []error
	for _, c := range g.checks {
		if c.mistake {
			errs = append(errs, fmt.Errorf("readiness: check %q: %w", c.name, c.err))
		}
	}
	return errors.Join(errs...)
}

// Drain closes the gate for good. Checks that still run are told to stop. The
// process should go on serving until the balancer has looked away.
func (g *Gate) Drain() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state == Draining {
		return
	}
	g.makeLocked()
	g.state = Draining
	close(g.draining)
	if g.stop != nil {
		g.stop(errDraining)
	}
}

var errDraining = errors.New("readiness: draining")

// State returns where the gate is.
func (g *Gate) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// Opened returns a channel that is closed when the gate opens. It stays open if
// the gate drains before.
func (g *Gate) Opened() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makeLocked()
	return g.opened
}

// Drained returns a channel that is closed by [Gate.Drain].
func (g *Gate) Drained() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.makeLocked()
	return g.draining
}

func (g *Gate) makeLocked() {
	if g.opened == nil {
		g.opened, g.draining = make(chan struct{}), make(chan struct{})
	}
}
