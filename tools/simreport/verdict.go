package simreport

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity/simulate"
)

// verdict says in two or three sentences what the runs showed.
func verdict(p *Played) string {
	share := simulate.Over(p.Results, func(r *simulate.Result) float64 { return r.Calls.FailedShare })
	first := p.Results[0]
	var b strings.Builder
	switch cause, of := mainCause(p); {
	case share.Max == 0:
		fmt.Fprintf(&b, "All %s calls a second were served.", short(float64(first.Calls.Ended)/first.Duration.Seconds()))
	case of > 0.8:
		fmt.Fprintf(&b, "%s of calls failed, nearly all by: %s.", capital(percent(share.Mean)), cause)
	default:
		fmt.Fprintf(&b, "%s of calls failed, most of them (%s) by: %s.", capital(percent(share.Mean)), percent(of), cause)
	}
	if tries := simulate.Over(p.Results, func(r *simulate.Result) float64 { return r.Calls.TriesPerCall }); tries.Mean > 1.05 {
		fmt.Fprintf(&b, " Each was sent %s times.", ratio(tries.Mean))
	}
	if nobody := simulate.Over(p.Results, func(r *simulate.Result) float64 { return r.Requests.WastedShare }); nobody.Mean > 0.1 {
		fmt.Fprintf(&b, " %s of the time that the upstream worked was for calls that failed or had been given up.", capital(percent(nobody.Mean)))
	}
	switch f := first.Failing; {
	case f.Time == 0:
	case f.To >= first.Settle+first.Duration:
		fmt.Fprintf(&b, " More than 5 %% failed from %s on, and still did at the end.", clock(f.From))
	default:
		fmt.Fprintf(&b, " More than 5 %% failed for %s in all, between %s and %s.", clock(f.Time), clock(f.From), clock(f.To))
	}
	return b.String()
}

// capital begins a sentence with "Under", should the number begin so.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// mainCause is the cause of most failures over all seeds, and its share of them.
func mainCause(p *Played) (simulate.Cause, float64) {
	sums, all := map[simulate.Cause]int64{}, int64(0)
	for _, r := range p.Results {
		for c, n := range r.Calls.Failed {
			sums[c] += n
			all += n
		}
	}
	if all == 0 {
		return 0, 0
	}
	causes := slices.SortedFunc(maps.Keys(sums), func(a, b simulate.Cause) int { return cmp.Compare(sums[b], sums[a]) })
	return causes[0], float64(sums[causes[0]]) / float64(all)
}
