package simulate

import "time"

// points is how many points each series has, whatever the length of the run.
const points = 240

// A Series is one quantity over the whole run, Settle included, at equal steps.
type Series struct {
	// Name says what it is, Unit in what: "1/s", "s", "%", or empty for a number.
	Name, Unit string

	// Step is the time from one value to the next; each stands for the step before
	// its end.
	Step   time.Duration
	Values []float64
}

// A gauge follows a number that goes up and down, and keeps its mean over each
// step and over what is measured.
type gauge struct {
	width int64
	value float64
	peak  float64 // since the last reset
	area  float64 // value × nanoseconds since the last reset
	since int64
	first int64 // when it first rose; 0 if it never did
	end   int64 // of the current step
	step  int
	steps [points]float64 // value × nanoseconds
}

func newGauge(width int64) gauge { return gauge{width: width, end: width} }

// add changes the number at time now.
func (g *gauge) add(now int64, change float64) {
	g.advance(now)
	g.value += change
	if g.first == 0 && g.value > 0 {
		g.first = now
	}
	g.peak = max(g.peak, g.value)
}

// advance accounts for the time up to now.
func (g *gauge) advance(now int64) {
	g.area += g.value * float64(now-g.since)
	for now >= g.end && g.step < points-1 {
		g.steps[g.step] += g.value * float64(g.end-g.since)
		g.since = g.end
		g.end += g.width
		g.step++
	}
	g.steps[g.step] += g.value * float64(now-g.since)
	g.since = now
}

// reset starts the measurement: what was before it counts in the series only.
func (g *gauge) reset(now int64) {
	g.advance(now)
	g.area, g.peak = 0, g.value
}

func (g *gauge) series(name, unit string) Series {
	s := Series{Name: name, Unit: unit, Step: time.Duration(g.width), Values: make([]float64, points)}
	for i, v := range g.steps {
		s.Values[i] = v / float64(g.width)
	}
	return s
}

// A tally counts what happens, in all and for each step.
type tally struct {
	width int64
	total int64 // of what is measured
	first int64 // when the first came; 0 if none did
	steps [points]float64
}

func (t *tally) add(now int64, n int64) {
	t.total += n
	if t.first == 0 {
		t.first = now
	}
	t.steps[t.stepOf(now)] += float64(n)
}

func (t *tally) stepOf(now int64) int { return int(min(now/t.width, points-1)) }

// series returns the tally as a rate per second.
func (t *tally) series(name string) Series {
	s := Series{Name: name, Unit: "1/s", Step: time.Duration(t.width), Values: make([]float64, points)}
	for i, n := range t.steps {
		s.Values[i] = n / s.Step.Seconds()
	}
	return s
}

// ratio returns over/under for each step, 0 where under is.
func ratio(name, unit string, over, under Series) Series {
	s := Series{Name: name, Unit: unit, Step: over.Step, Values: make([]float64, points)}
	for i := range s.Values {
		if under.Values[i] != 0 {
			s.Values[i] = over.Values[i] / under.Values[i]
		}
	}
	return s
}
