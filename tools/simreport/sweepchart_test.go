package simreport

import (
	"testing"

	"github.com/offtake-go/offtake/capacity/simulate"
)

func TestTheBestValueIsNamedWithThoseLikeIt(t *testing.T) {
	row := func(shares ...float64) *Played {
		p := &Played{}
		for _, share := range shares {
			p.Results = append(p.Results, &simulate.Result{Calls: simulate.Calls{FailedShare: share}})
		}
		return p
	}
	values := []string{"10", "20", "30"}
	for want, rows := range map[string][]*Played{
		"Fewest calls failed with 20: 2.0\u00a0%.":                                     {row(.05), row(.02), row(.03)},
		"Fewest calls failed with 20: 2.0\u00a0%; the seeds do not tell it from 30.":   {row(.05, .06), row(.01, .03), row(.02, .04)},
		"Fewest calls failed with 10: 0\u00a0%; the seeds do not tell it from 20, 30.": {row(0), row(0), row(0)},
	} {
		if got := best(values, rows); got != want {
			t.Errorf("best() = %s, want %s", got, want)
		}
	}
}
