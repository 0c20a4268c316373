package debug

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// level is how urgent a finding is.
type level int

const (
	fine level = iota
	note       // worth knowing, nothing to do
	warn       // will hurt callers, or hurts a few
	bad        // hurts callers now
)

// String is the level as the page and its JSON name it.
func (l level) String() string { return [...]string{"ok", "note", "warn", "bad"}[l] }

// MarshalText implements encoding.TextMarshaler.
func (l level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// finding is one thing to say about a subject: what kind of trouble it is, the
// numbers that show it, and those that tell where it comes from. Trouble is of four
// kinds, because what helps is different for each:
//
//   - broken: calls fail; see the last errors, and whoever runs the upstream.
//   - slow: the upstream takes longer than was planned for.
//   - mis-sized: the traffic needs more places than the plan has.
//   - busy: somebody says "not now" though the size fits: this process in a burst,
//     or the upstream itself.
//
// What is no trouble of calls has words of its own.
type finding struct {
	Level  level  `json:"level"`
	Word   string `json:"word"`
	Text   string `json:"text"`
	Detail string `json:"detail,omitempty"`
}

// The shares from which something is said. They are those of the alerts in
// observability/prometheus, so that the page and the pager agree.
const (
	fewFailures = 0.01
	badFailures = 0.05
	badRefusals = 0.01
	nearLimit   = 0.8
	longWait    = 100 * time.Millisecond // the p95 of the queue wait
	amplified   = 1.25                   // attempts for each call
	churning    = 0.1                    // dials for each attempt
	longWarming = time.Minute
	slowed      = 2                     // times the planned latency, if the mean is
	enough      = 30                    // calls, and
	felt        = 20 * time.Millisecond // more than planned
)

// findings collects what is said about one subject.
type findings []finding

func (f *findings) say(l level, word, format string, args ...any) {
	f.explain("", l, word, format, args...)
}

func (f *findings) explain(detail string, l level, word, format string, args ...any) {
	*f = append(*f, finding{l, word, fmt.Sprintf(format, args...), detail})
}

// sorted has the worst first, and among equals the order in which they were
// said: causes before symptoms.
func (f findings) sorted() findings {
	slices.SortStableFunc(f, func(a, b finding) int { return cmp.Compare(b.Level, a.Level) })
	return f
}

// levelOf is bad for a share that callers notice.
func levelOf(n, all uint64) level {
	if share(n, all) >= badFailures {
		return bad
	}
	return warn
}

func share(n, all uint64) float64 {
	if all == 0 {
		return 0
	}
	return float64(n) / float64(all)
}
