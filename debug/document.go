package debug

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// document is what the page says at one instant, in all its forms. It does not
// change once it is made.
type document struct {
	At       time.Time  `json:"at"`
	Headline string     `json:"headline"`
	Level    level      `json:"level"`
	Subjects []*subject `json:"subjects"` // the worst first
}

// subject is one upstream, door or gate.
type subject struct {
	ID       string   `json:"id"` // kind and name, unique on the page
	Kind     string   `json:"kind"`
	Name     string   `json:"name"`
	Target   string   `json:"target,omitempty"`
	Level    level    `json:"level"`
	Findings findings `json:"findings"`
	Facts    []fact   `json:"facts,omitempty"`
	Live     *live    `json:"live,omitempty"`    // of a gate none
	History  *history `json:"history,omitempty"` // added to what is sent
	Errors   []failed `json:"errors,omitempty"`

	// tenths of the calls are hurt. It is tempting to order by the share itself; but
	// then rows would change their places each tick.
	tenths int

	slot uint64 // of the history, when this was read
}

// fact is one line of the table that has the plan beside what is.
type fact struct {
	Label string `json:"label"`
	Plan  string `json:"plan,omitempty"`
	Now   string `json:"now"`
}

// live are the figures that programs and the meter read. Times are in seconds.
type live struct {
	InFlight int               `json:"inFlight"`
	Places   int               `json:"places"`
	Required sample            `json:"required"`
	Queued   int               `json:"queued"`
	Window   sample            `json:"windowSeconds"` // what the next ones cover
	Wait     percentiles       `json:"queueWaitSeconds"`
	Duration percentiles       `json:"durationSeconds"`
	Outcomes map[string]uint64 `json:"outcomes"`
	Refused  map[string]uint64 `json:"refused"`
	Observed map[string]uint64 `json:"observed"`
	Retries  map[string]uint64 `json:"retries,omitempty"`
}

type percentiles struct {
	P50 sample `json:"p50"`
	P95 sample `json:"p95"`
	P99 sample `json:"p99"`
}

func (h Histogram) percentiles() percentiles {
	return percentiles{sample(h.quantile(0.5)), sample(h.quantile(0.95)), sample(h.quantile(0.99))}
}

// history is the last ten minutes, a figure each ten seconds, oldest first.
type history struct {
	Seconds  int      `json:"everySeconds"`
	InFlight []sample `json:"inFlight"` // the peak
	Places   []sample `json:"places"`
	Required []sample `json:"required"`
	Queued   []sample `json:"queued"` // the peak
	Wait     []sample `json:"queueWaitP95"`
	Calls    []sample `json:"callsPerSecond"`
	Failed   []sample `json:"failedPerSecond"` // timeouts among them
	Refused  []sample `json:"refusedPerSecond"`
}

func (t *track) history(from, to uint64) *history {
	return &history{
		Seconds:  int(slot / time.Second),
		InFlight: t.series(from, to, func(p point) float64 { return p.inFlight }),
		Places:   t.series(from, to, func(p point) float64 { return p.places }),
		Required: t.series(from, to, func(p point) float64 { return p.required }),
		Queued:   t.series(from, to, func(p point) float64 { return p.queued }),
		Wait:     t.series(from, to, func(p point) float64 { return p.wait }),
		Calls:    t.series(from, to, func(p point) float64 { return p.calls }),
		Failed:   t.series(from, to, func(p point) float64 { return p.failed }),
		Refused:  t.series(from, to, func(p point) float64 { return p.refused }),
	}
}

// failed is the last error of an outcome.
type failed struct {
	Outcome string `json:"outcome"`
	Text    string `json:"text"`
	Ago     string `json:"ago"`
}

// newDocument puts the worst first and says so.
func newDocument(now time.Time, subjects []*subject) *document {
	blamed := slices.ContainsFunc(subjects, func(s *subject) bool { return s.Kind == "upstream" && s.inTrouble() })
	slices.SortStableFunc(subjects, func(a, b *subject) int {
		return cmp.Or(cmp.Compare(b.urgency(blamed), a.urgency(blamed)), cmp.Compare(kindOrder(a.Kind), kindOrder(b.Kind)),
			cmp.Compare(b.tenths, a.tenths), strings.Compare(a.Name, b.Name))
	})
	d := &document{At: now, Subjects: subjects}
	troubled := 0
	for _, s := range subjects {
		d.Level = max(d.Level, s.Level)
		if s.Level >= warn {
			troubled++
		}
	}
	switch {
	case len(subjects) == 0:
		d.Headline = "Nothing to show: no source has an upstream, a door or a gate."
	case troubled == 0:
		d.Headline = fmt.Sprintf("All is well: %s.", census(subjects))
		if first := subjects[0]; first.Level == note {
			d.Headline += fmt.Sprintf(" To know: %s, %s – %s.", first.Name, first.Findings[0].Word, first.Findings[0].Text)
		}
	default:
		worst := subjects[0]
		d.Headline = fmt.Sprintf("%s is %s – %s", worst.Name, worst.Findings[0].Word, worst.Findings[0].Text)
		if troubled > 1 {
			d.Headline += fmt.Sprintf(" (and %d more in trouble)", troubled-1)
		}
	}
	return d
}

// inTrouble says whether calls are.
func (s *subject) inTrouble() bool {
	return s.Level >= warn && slices.Contains([]string{"broken", "slow", "mis-sized", "busy"}, s.Findings[0].Word)
}

// urgency is the level; but a door that fails or is full is so for an upstream that
// is to blame, if there is one, and so comes after it.
func (s *subject) urgency(blamed bool) int {
	switch {
	case blamed && s.Kind == "door" && s.Level == bad:
		return 2 * int(warn)
	case s.Level == warn && s.Kind == "upstream" && s.inTrouble():
		return 2*int(warn) + 1
	}
	return 2 * int(s.Level)
}

// kindOrder has causes before symptoms, among those that are as urgent: without the
// gate there is no traffic to speak of.
func kindOrder(kind string) int { return slices.Index([]string{"gate", "upstream", "door"}, kind) }

func census(subjects []*subject) string {
	counts := make(map[string]uint64)
	for _, s := range subjects {
		counts[s.Kind]++
	}
	var parts []string
	for _, kind := range []string{"gate", "upstream", "door"} {
		if n := counts[kind]; n > 0 {
			parts = append(parts, count(n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// appendFigure writes a figure to three digits, or null.
func appendFigure(b []byte, v float64) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, "null"...)
	}
	digits := 3
	if a := math.Abs(v); a >= 1000 {
		digits = int(math.Log10(a)) + 1 // whole numbers stay whole
	}
	v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', digits, 64), 64)
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // a finite number can be written
	}
	return append(b, out...)
}
