package simreport

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/offtake-go/offtake/capacity/simulate"
)

// The size of a chart in its own units: text stays readable when the whole is
// scaled to the width of a telephone.
const (
	chartWidth  = 560.0
	chartHeight = 200.0
	plotLeft    = 52.0
	plotRight   = chartWidth - 10
	plotTop     = 22.0
	plotBottom  = chartHeight - 26
)

// A chart is one picture of a run, ready for the template.
type chart struct {
	Title, Unit    string
	Summary        string
	Run            string // its name, where two stand below each other
	Lines          []line
	XTicks, YTicks []tick
	Marks          []mark
	Step           float64 // seconds
	Top            float64
}

// A line is one series in a chart. Areas are stacked on those before them.
type line struct {
	Name, Class string
	Area        bool
	Path        string
	Values      []float64 // what a reader sees at the cursor, unstacked
}

type tick struct {
	At    float64
	Label string
}

// A mark is a moment in the chart: its label is the number that it has in the list
// of moments. One too close to the one before for a label of its own leaves it to
// that.
type mark struct {
	At     float64
	Label  string
	Effect bool
}

// A panel says which series one chart has.
type panel struct {
	title string
	unit  string
	lines []series
}

type series struct {
	simulate.Series
	class string
	area  bool
}

// scaleX maps a time of the run to the chart.
func scaleX(at, length float64) float64 { return plotLeft + (plotRight-plotLeft)*at/length }

// scaleY maps a value to the chart.
func scaleY(v, top float64) float64 { return plotBottom - (plotBottom-plotTop)*v/top }

// top is the highest value that the panel reaches, areas stacked.
func (p panel) top() float64 {
	highest := 0.0
	stack := make([]float64, 0)
	for _, s := range p.lines {
		for i, v := range s.Values {
			if s.area {
				if len(stack) <= i {
					stack = append(stack, 0)
				}
				stack[i] += v
				v = stack[i]
			}
			highest = max(highest, v)
		}
	}
	return highest
}

// draw makes the chart with a common scale, so that two beside each other compare.
func (p panel) draw(top float64, moments []simulate.Moment) chart {
	values := p.lines[0].Values
	length := float64(len(values)) * p.lines[0].Step.Seconds()
	c := chart{Title: p.title, Unit: p.unit, Step: p.lines[0].Step.Seconds(), XTicks: timeTicks(length)}
	c.YTicks, c.Top = valueTicks(top, p.unit)
	base := make([]float64, len(values))
	for _, s := range p.lines {
		l := line{Name: s.Name, Class: s.class, Area: s.area, Values: s.Values}
		if s.area {
			upper := make([]float64, len(values))
			for i, v := range s.Values {
				upper[i] = base[i] + v
			}
			l.Path = steps(upper, c.Top) + back(base, c.Top)
			base = upper
		} else {
			l.Path = steps(s.Values, c.Top)
		}
		c.Lines = append(c.Lines, l)
	}
	c.Marks = marks(moments, length)
	c.Summary = p.summary()
	return c
}

// labelWidth is the least distance between two labels of marks.
const labelWidth = 11.0

func marks(moments []simulate.Moment, length float64) []mark {
	var all []mark
	labelled := 0 // the last with a label
	for i, m := range moments {
		next := mark{scaleX(m.At.Seconds(), length), strconv.Itoa(i + 1), m.Effect}
		if i > 0 && next.At-all[labelled].At < labelWidth {
			first, _, _ := strings.Cut(all[labelled].Label, "–")
			all[labelled].Label, next.Label = first+"–"+next.Label, ""
		} else {
			labelled = i
		}
		all = append(all, next)
	}
	return all
}

// summary is the chart in words, for those who do not see it.
func (p panel) summary() string {
	var parts []string
	for _, s := range p.lines {
		highest, at := 0.0, 0
		for i, v := range s.Values {
			if v > highest {
				highest, at = v, i
			}
		}
		parts = append(parts, fmt.Sprintf("%s: highest %s at %s, last %s", s.Name, withUnit(highest, p.unit),
			clock(time.Duration(at)*s.Step), withUnit(s.Values[len(s.Values)-1], p.unit)))
	}
	return strings.Join(parts, "; ")
}

// steps is the path of values, each of which stands for its whole step.
func steps(values []float64, top float64) string {
	var b strings.Builder
	for i, v := range values {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", command, scaleX(float64(i)+0.5, float64(len(values))), scaleY(v, top))
	}
	return b.String()
}

// back closes an area along its lower edge.
func back(values []float64, top float64) string {
	var b strings.Builder
	for i := len(values) - 1; i >= 0; i-- {
		fmt.Fprintf(&b, "L%.1f %.1f", scaleX(float64(i)+0.5, float64(len(values))), scaleY(values[i], top))
	}
	return b.String() + "Z"
}

// timeTicks are four to eight round times.
func timeTicks(length float64) []tick {
	step := 1.0
	for _, step = range []float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 86400} {
		if length/step <= 8 {
			break
		}
	}
	var all []tick
	for at := 0.0; at <= length; at += step {
		all = append(all, tick{scaleX(at, length), timeLabel(at, step)})
	}
	return all
}

// timeLabel writes a time without the units that are 0 in all labels.
func timeLabel(at, step float64) string {
	hours, minutes := int(at)/3600, int(at)/60
	switch {
	case at == 0:
		return "0"
	case step < 60:
		return clock(time.Duration(at) * time.Second)
	case step < 3600 && hours == 0:
		return fmt.Sprintf("%dm", minutes)
	case step < 3600:
		return fmt.Sprintf("%dh%02dm", hours, minutes%60)
	}
	return fmt.Sprintf("%dh", hours)
}

// valueTicks are two to five round values from 0, and the highest of them.
func valueTicks(highest float64, unit string) ([]tick, float64) {
	if highest == 0 {
		highest = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(highest)))
	for highest/step < 2 {
		step /= 2
	}
	for highest/step > 5 {
		step *= 2
	}
	top := math.Ceil(highest/step-1e-9) * step
	var all []tick
	for v := 0.0; v <= top+step/2; v += step {
		label := short(v)
		if unit == "s" {
			label = seconds(v)
		}
		all = append(all, tick{scaleY(v, top), label})
	}
	return all, top
}
