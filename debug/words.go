package debug

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// count writes "1 call" or "12 calls"; a plural that is not the singular with an
// s is given.
func count(n uint64, singular string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + singular
	case len(plural) > 0:
		return fmt.Sprintf("%d %s", n, plural[0])
	}
	return fmt.Sprintf("%d %ss", n, singular)
}

// number writes a figure with as many digits as one reads at a glance.
func number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v != 0 && math.Abs(v) < 0.01:
		return "<0.01"
	case math.Abs(v) < 10:
		return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64)
	case math.Abs(v) < 100:
		return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64)
	}
	return strconv.FormatFloat(math.Round(v), 'f', -1, 64)
}

// seconds writes a time in the unit that fits, and "–" for none.
func seconds(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return "–"
	case s == 0:
		return "0 s"
	case s < 0.001:
		return "<1 ms"
	case s < 1:
		return number(s*1000) + " ms"
	case s < 120:
		return number(s) + " s"
	}
	return number(s/60) + " min"
}

// brief writes a duration to three digits.
func brief(d time.Duration) string {
	if d == 0 {
		return "–"
	}
	return seconds(d.Seconds())
}

// span names what a window covers.
func (w window) span() string {
	switch {
	case w.seconds < 1:
		return "last moment"
	case w.seconds < 55 || w.seconds > 75:
		return "last " + seconds(math.Round(w.seconds))
	}
	return "last minute"
}
