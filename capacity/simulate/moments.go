package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// A Moment is a time of the run that a reader should know of: what the scenario
// did, and when its consequences began.
type Moment struct {
	At   time.Duration // since the start, Settle included
	Text string

	// Effect says that the run brought it about, and no event of the scenario.
	Effect bool
}

// moments adds to what was marked in the run the first of each consequence.
func (m *meter) moments(f Failing, length time.Duration) []Moment {
	all := slices.Clone(m.marks)
	for _, first := range []struct {
		at   int64
		text string
	}{
		{m.ejected.first, "a replica is ejected"},
		{m.capRefused.first, "the cap refuses an ejection"},
		{m.panicking.first, "a proxy panics"},
		{m.restarts.first, "a replica is restarted"},
		{m.ended[NoHealthy].first, "no healthy replica is left"},
	} {
		if first.at > 0 {
			all = append(all, Moment{At: time.Duration(first.at), Text: first.text, Effect: true})
		}
	}
	if f.Time > 0 {
		all = append(all, Moment{At: f.From, Text: "more than 5 % of calls fail", Effect: true})
		if f.To < length {
			text := fmt.Sprintf("no longer, after %v in all", f.Time.Round(time.Second))
			all = append(all, Moment{At: f.To, Text: text, Effect: true})
		}
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return all
}

// Failing is when more than 5 % of the calls that ended did so badly: what most
// alerts on errors have as their threshold. All is 0 if they never did.
type Failing struct {
	// From is when that began first, To when it ended for the last time, both since
	// the start of the run. Time is how long it lasted in between.
	From, To, Time time.Duration
}

// failing is the share of calls behind Failing.
const failing = 0.05

// whenFailing finds the first step and the last in which calls failed. The first
// does not begin before any call failed.
func (m *meter) whenFailing(failed, served Series) Failing {
	var f Failing
	var ever int64
	for c := Served + 1; c < causes; c++ {
		if at := m.ended[c].first; at > 0 && (ever == 0 || at < ever) {
			ever = at
		}
	}
	for i := range failed.Values {
		if failed.Values[i] <= failing*(failed.Values[i]+served.Values[i]) {
			continue
		}
		from := max(time.Duration(i)*failed.Step, time.Duration(ever))
		if f.Time == 0 {
			f.From = from
		}
		f.To = time.Duration(i+1) * failed.Step
		f.Time += f.To - from
	}
	return f
}
