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

// failing is the share of calls from which on they count as failing: what an
// alert on one percent sees.
const failing = 0.01

// moments adds to the marks the consequences that the series show, to a step's
// exactness.
func moments(marks []Moment, series []Series) []Moment {
	all := slices.Clone(marks)
	find := func(name string) Series {
		return series[slices.IndexFunc(series, func(s Series) bool { return s.Name == name })]
	}
	first := func(name, text string) {
		s := find(name)
		if i := slices.IndexFunc(s.Values, func(v float64) bool { return v > 0 }); i >= 0 {
			all = append(all, Moment{At: time.Duration(i) * s.Step, Text: text, Effect: true})
		}
	}
	first(SeriesEjected, "a replica is ejected")
	first(SeriesCapped, "the cap refuses an ejection")
	first(SeriesPanicking, "a proxy panics")
	first(SeriesRestarts, "a replica is restarted")
	if slices.ContainsFunc(series, func(s Series) bool { return s.Name == FailedBy(NoHealthy) }) {
		first(FailedBy(NoHealthy), "no healthy replica is left")
	}
	all = append(all, failures(find(SeriesFailed), find(SeriesServed))...)
	slices.SortStableFunc(all, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return all
}

// failures says when calls began to fail and for how long: from the first step to
// the last in which more than a hundredth of those that ended did.
func failures(failed, served Series) []Moment {
	bad := func(i int) bool { return failed.Values[i] > failing*(failed.Values[i]+served.Values[i]) }
	first, last, n := -1, -1, 0
	for i := range failed.Values {
		if bad(i) {
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
	moments := []Moment{{At: time.Duration(first) * failed.Step, Text: "calls fail", Effect: true}}
	if last < len(failed.Values)-1 {
		took := (time.Duration(n) * failed.Step).Round(time.Second)
		moments = append(moments, Moment{
			At: time.Duration(last+1) * failed.Step, Text: fmt.Sprintf("calls no longer fail, after %v of failures", took), Effect: true,
		})
	}
	return moments
}
