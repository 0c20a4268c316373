package simreport

import (
	"fmt"
	"strings"

	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/capacity/simulate/scenario"
)

// A sweepView is a sweep as bars of the share of calls that failed, each with the
// range over its seeds, and as a table.
type sweepView struct {
	Key                 string
	Names               []string
	Rows                []sweepRow
	Width, Height       float64
	Left, Bottom, Thick float64
	XTicks              []tick
	Best                string
}

type sweepRow struct {
	Value          string
	Figures        []string
	Y              float64 // of the upper edge of its bar
	Mean, Min, Max float64 // where they are on the axis
}

const (
	sweepWidth = 560.0
	sweepLeft  = 90.0
	sweepPitch = 26.0
	sweepThick = 16.0
)

func (s *Sweep) view(base *scenario.File) *sweepView {
	rows := make([]*Played, len(s.Rows))
	highest := 0.0
	for i, results := range s.Rows {
		rows[i] = &Played{File: base, Results: results}
		highest = max(highest, failedShare(rows[i]).Max)
	}
	ticks, top := valueTicks(100*highest, "%")
	axis := func(share float64) float64 {
		return sweepLeft + (sweepWidth-sweepLeft-20)*100*share/top
	}
	v := &sweepView{
		Key: s.Key, Width: sweepWidth, Left: sweepLeft, Thick: sweepThick,
		Bottom: 10 + sweepPitch*float64(len(rows)), Height: 40 + sweepPitch*float64(len(rows)),
	}
	for i, t := range ticks {
		v.XTicks = append(v.XTicks, tick{axis(top / 100 * float64(i) / float64(len(ticks)-1)), t.Label + "\u00a0%"})
	}
	some := sweepFigures(rows)
	for _, f := range some {
		v.Names = append(v.Names, f.name)
	}
	for i, row := range rows {
		f := failedShare(row)
		r := sweepRow{Value: s.Values[i], Y: 10 + sweepPitch*float64(i), Mean: axis(f.Mean), Min: axis(f.Min), Max: axis(f.Max)}
		for _, figure := range some {
			r.Figures = append(r.Figures, figure.text(row))
		}
		v.Rows = append(v.Rows, r)
	}
	v.Best = best(s.Values, rows)
	return v
}

// best says with which value the fewest calls failed, and which others the seeds
// do not tell from it.
func best(values []string, rows []*Played) string {
	least := 0
	for i, row := range rows {
		if failedShare(row).Mean < failedShare(rows[least]).Mean {
			least = i
		}
	}
	f := failedShare(rows[least])
	var alike []string
	for i, row := range rows {
		if other := failedShare(row); i != least && other.Min <= f.Max {
			alike = append(alike, values[i])
		}
	}
	text := fmt.Sprintf("Fewest calls failed with %s: %s", values[least], percent(f.Mean))
	if len(alike) > 0 {
		text += "; the seeds do not tell it from " + strings.Join(alike, ", ")
	}
	return text + "."
}

func failedShare(p *Played) simulate.Spread {
	return simulate.Over(p.Results, func(r *simulate.Result) float64 { return r.Calls.FailedShare })
}
