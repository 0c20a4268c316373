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

// failing is the share of calls from which on they count as failing: what most
// alerts on errors have as their threshold.
const failing = 0.05

// moments adds to what was marked in the run the first of each consequence.
func (m *meter) moments(failed, served Series) []Moment {
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
	all = append(all, failures(failed, served, m.marks)...)
	slices.SortStableFunc(all, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return all
}

// failures says when calls began to fail and for how long: from the first step to
// the last in which more than a twentieth of those that ended did. What began in a
// step in which the scenario did something began after it.
func failures(failed, served Series, marks []Moment) []Moment {
	first, last, n := -1, -1, 0
	for i := range failed.Values {
		if failed.Values[i] > failing*(failed.Values[i]+served.Values[i]) {
			if first < 0 {
				first = i
			}
			last = i
			n++
		}
	}
	if first < 0 {
		return nil
	}
	begin, end := time.Duration(first)*failed.Step, time.Duration(last+1)*failed.Step
	for _, m := range marks {
		if m.At > begin && m.At < begin+failed.Step {
			begin = m.At
		}
	}
	moments := []Moment{{At: begin, Text: "calls fail", Effect: true}}
	if last < len(failed.Values)-1 {
		took := (time.Duration(n) * failed.Step).Round(time.Second)
		moments = append(moments, Moment{At: end, Text: fmt.Sprintf("calls no longer fail, after %v of failures", took), Effect: true})
	}
	return moments
}
