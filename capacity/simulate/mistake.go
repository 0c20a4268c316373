package simulate

import (
	"errors"
	"fmt"
	"time"
)

// A Mistake is one field of a Scenario that can not stand. A reader of files uses
// Field to point at the line.
type Mistake struct {
	// Field is the path of the Go field, such as "Service.Client.Places" or
	// "Events[2].Rollout".
	Field string

	// Problem says what was found and why it can not stand, Remedy a value that
	// would do.
	Problem, Remedy string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("simulate: %s: %s; %s", m.Field, m.Problem, m.Remedy)
}

type mistakes struct{ errs []error }

func (m *mistakes) err() error { return errors.Join(m.errs...) }

func (m *mistakes) add(field, problem, remedy string) {
	m.errs = append(m.errs, &Mistake{Field: field, Problem: problem, Remedy: remedy})
}

// Bounds against slips of the keyboard: what is over them would not end in a
// night, or not fit into memory.
const (
	maxRun    = 7 * 24 * time.Hour
	maxTime   = 24 * time.Hour
	maxRate   = 1e6
	maxCount  = 10_000
	maxPlaces = 1_000_000
	maxHosts  = 1_000_000 // callers times replicas
	maxTimers = 1 << 25   // set at once: 1 GB
)

func (m *mistakes) number(field string, x, least, most float64, what string) {
	if !(x >= least && x <= most) { // so written that NaN fails it
		m.add(field, fmt.Sprintf("%g is not in [%g, %g]: %s", x, least, most, what), fmt.Sprintf("%g would do", min(max(least, 1), most)))
	}
}

func (m *mistakes) count(field string, n, least, most int, what string) {
	if n < least || n > most {
		m.add(field, fmt.Sprintf("%d is not in [%d, %d]: %s", n, least, most, what), fmt.Sprintf("%d would do", max(least, 1)))
	}
}

func (m *mistakes) duration(field string, d, least, most time.Duration, what string) {
	if d < least || d > most {
		m.add(field, fmt.Sprintf("%v is not in [%v, %v]: %s", d, least, most, what), fmt.Sprintf("%v would do", min(max(least, time.Second), most)))
	}
}

// optional checks a duration that may be 0.
func (m *mistakes) optional(field string, d time.Duration) {
	m.duration(field, d, 0, maxTime, "0 leaves it out")
}

func (m *mistakes) share(field string, x Share, what string) { m.number(field, float64(x), 0, 1, what) }
