package capacity

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Mistake is one field of a Plan or Demand that can not stand. Methods that
// check return all of them at once, joined; errors.AsType finds the first, and a
// reader of files uses Field to point at the line.
type Mistake struct {
	// Type is "Plan" or "Demand", Field the name of its Go field.
	Type, Field string

	// Problem says what was found and why it can not stand.
	Problem string

	// Remedy is a value that would do.
	Remedy string
}

func (m *Mistake) Error() string {
	return fmt.Sprintf("capacity: %s.%s: %s; %s", m.Type, m.Field, m.Problem, m.Remedy)
}

// mistakes collects the mistakes of one value, and remembers which fields are
// known bad so that no second complaint is derived from the first.
type mistakes struct {
	of   string
	errs []error
	bad  []string
}

func (m *mistakes) add(field, problem, remedy string) {
	m.errs = append(m.errs, &Mistake{Type: m.of, Field: field, Problem: problem, Remedy: remedy})
	m.bad = append(m.bad, field)
}

// good reports whether none of the fields is known bad.
func (m *mistakes) good(fields ...string) bool {
	return !slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(m.bad, f) })
}

func (m *mistakes) err() error { return errors.Join(m.errs...) }

// count checks that an optional count lies in [least, most]; 0 is the default.
func (m *mistakes) count(field string, n, least, most int, why string) {
	if n != 0 && (n < least || n > most) {
		m.add(field, fmt.Sprintf("%d is not in [%d, %d]: %s", n, least, most, why),
			fmt.Sprintf("%d would do, or 0 for the default", min(max(n, least), most)))
	}
}

// number checks that an optional number is finite and in [0, most]; 0 is unset.
// The comparison is written so that NaN fails it.
func (m *mistakes) number(field string, x, most float64, why string) {
	if !(x >= 0 && x <= most) {
		remedy := most
		if x < 0 {
			remedy = min(-x, most)
		}
		m.add(field, fmt.Sprintf("%g is not in [0, %g]: %s", x, most, why), fmt.Sprintf("%g would do", remedy))
	}
}

// duration checks that an optional duration lies in [least, maxTime]; 0 is the
// default. A bare number in Go is nanoseconds, and 60,000 s is nearly always
// 60,000 ms, so both slips are named.
func (m *mistakes) duration(field string, d, least time.Duration) {
	switch {
	case d < 0:
		m.add(field, fmt.Sprintf("%v is negative, and no time is without a bound", d), "0 means the default")
	case d > 0 && d < least:
		m.add(field, fmt.Sprintf("%v is under %v: a bare number counts nanoseconds", d, least),
			fmt.Sprintf("%v would do, or %d*time.Second", least, int64(d)))
	case d > maxTime:
		m.add(field, fmt.Sprintf("%v is over %v: what takes longer is a job, not a call", d, maxTime),
			fmt.Sprintf("%v would do if milliseconds were meant", min(d/1000, maxTime)))
	}
}
