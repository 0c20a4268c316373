package simreport

import (
	"fmt"
	"math"
	"time"

	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/capacity/simulate/scenario"
)

// A Played is one scenario with its results, one for each seed.
type Played struct {
	File    *scenario.File
	Results []*simulate.Result
}

// A figure is one number of a run that a reader compares.
type figure struct {
	name   string
	of     func(*simulate.Result) float64
	format func(float64) string
	always bool // shown even if it is 0 everywhere
}

func figures() []figure {
	return []figure{
		{"calls that failed", func(r *simulate.Result) float64 { return r.Calls.FailedShare }, percent, true},
		{"calls served", func(r *simulate.Result) float64 { return float64(r.Calls.Served) / r.Duration.Seconds() }, perSecond, true},
		{"tries per call", func(r *simulate.Result) float64 { return r.Calls.TriesPerCall }, ratio, true},
		{"p95 of calls", func(r *simulate.Result) float64 { return r.Calls.Latency.P95.Seconds() }, seconds, true},
		{"p95 of the wait for a place", func(r *simulate.Result) float64 { return r.Wait.P95.Seconds() }, seconds, false},
		{"longest queue, all replicas", func(r *simulate.Result) float64 { return r.QueuePeak }, count, false},
		{"most in flight upstream", func(r *simulate.Result) float64 { return r.Requests.InFlightPeak }, count, true},
		{"upstream work for nobody", func(r *simulate.Result) float64 { return r.Requests.WastedShare }, percent, false},
		{"most replicas ejected at once", func(r *simulate.Result) float64 { return float64(r.Mesh.MostEjected) }, count, false},
		{"ejections the cap refused", func(r *simulate.Result) float64 { return float64(r.Mesh.CapRefused) }, count, false},
		{"time in panic, per proxy", func(r *simulate.Result) float64 { return r.Mesh.PanicTime.Seconds() }, seconds, false},
		{"replicas restarted", func(r *simulate.Result) float64 { return float64(r.Restarts) }, count, false},
	}
}

// shown are the figures that are not 0 in every run.
func shown(played []*Played) []figure {
	var some []figure
	for _, f := range figures() {
		keep := f.always
		for _, p := range played {
			keep = keep || simulate.Over(p.Results, f.of).Max > 0
		}
		if keep {
			some = append(some, f)
		}
	}
	return some
}

// spread writes the mean of f over the seeds and, if they read differently, the
// least and the most.
func (f figure) spread(p *Played) (mean, within string) {
	s := simulate.Over(p.Results, f.of)
	lo, hi := f.format(s.Min), f.format(s.Max)
	if lo == hi {
		return lo, ""
	}
	return f.format(s.Mean), lo + " to " + hi
}

// text writes the spread in one.
func (f figure) text(p *Played) string {
	mean, within := f.spread(p)
	if within == "" {
		return mean
	}
	return mean + " (" + within + ")"
}

// percent and the others put a space that does not break before the unit.
func percent(x float64) string {
	switch x *= 100; {
	case x == 0:
		return "0\u00a0%"
	case x < 0.01:
		return "under 0.01\u00a0%"
	case x < 0.995:
		return fmt.Sprintf("%.2f\u00a0%%", x)
	case x < 9.95:
		return fmt.Sprintf("%.1f\u00a0%%", x)
	default:
		return fmt.Sprintf("%.0f\u00a0%%", x)
	}
}

func perSecond(x float64) string { return short(x) + "/s" }

func ratio(x float64) string { return fmt.Sprintf("%.2f", x) }

func count(x float64) string { return fmt.Sprintf("%.0f", x) }

func seconds(x float64) string {
	switch {
	case x == 0:
		return "0\u00a0s"
	case x < 1:
		return fmt.Sprintf("%.0f\u00a0ms", x*1000)
	default:
		return short(x) + "\u00a0s"
	}
}

// short writes a number with about three digits.
func short(x float64) string {
	switch a := math.Abs(x); {
	case a >= 1e6:
		return fmt.Sprintf("%.3gM", x/1e6)
	case a >= 1e4:
		return fmt.Sprintf("%.3gk", x/1e3)
	case a >= 100 || a == math.Trunc(a):
		return fmt.Sprintf("%.0f", x)
	case a >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2g", x)
	}
}

// clock writes a time of the run as 3m18s.
func clock(d time.Duration) string { return d.Round(time.Second).String() }
