package simulate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/offtake-go/offtake/capacity"
)

// A Rate is a number of calls per second; files write it as 120/s.
type Rate float64

// UnmarshalText reads a rate per second: a scenario has no use for other units.
func (r *Rate) UnmarshalText(b []byte) error {
	x, err := parseUnit(string(b), "/s", "120/s")
	*r = Rate(x)
	return err
}

// A Share is a part of a whole; files write it as 10%.
type Share float64

// UnmarshalText reads a percentage.
func (s *Share) UnmarshalText(b []byte) error {
	x, err := parseUnit(string(b), "%", "10%")
	*s = Share(x / 100)
	return err
}

func parseUnit(s, unit, example string) (float64, error) {
	digits, ok := strings.CutSuffix(s, unit)
	x, err := strconv.ParseFloat(digits, 64)
	switch {
	case err != nil || strings.Trim(digits, "0123456789.eE+") != "":
		return 0, fmt.Errorf("%q is not in %s; %s would do", s, unit, example)
	case !ok:
		return 0, fmt.Errorf("%q has no unit; %s%s would do", s, digits, unit)
	}
	return x, nil
}

// A Queue is how many requests may wait; files write none and unbounded for the
// two special ones.
type Queue int

// Unbounded is a queue without an end. No capacity.Plan can state one; many
// programs have one.
const Unbounded Queue = math.MaxInt32

// UnmarshalText reads a number, none or unbounded.
func (q *Queue) UnmarshalText(b []byte) error {
	switch string(b) {
	case "none":
		*q = capacity.NoQueue
	case "unbounded":
		*q = Unbounded
	default:
		n, err := strconv.Atoi(string(b))
		if err != nil || n < 1 {
			return fmt.Errorf("%q is not a number of requests; 10 would do, or none, or unbounded", b)
		}
		*q = Queue(n)
	}
	return nil
}

// A Threshold is a number of errors in a row; files write off for none.
type Threshold int

// Off disables a detector.
const Off Threshold = -1

// UnmarshalText reads a number or off.
func (t *Threshold) UnmarshalText(b []byte) error {
	if string(b) == "off" {
		*t = Off
		return nil
	}
	n, err := strconv.Atoi(string(b))
	if err != nil || n < 1 {
		return fmt.Errorf("%q is not a number of errors in a row; 5 would do, or off", b)
	}
	*t = Threshold(n)
	return nil
}

// word sets v to the index of b in words, which are in the order of its constants.
func word[T ~uint8](v *T, b []byte, words ...string) error {
	i := slices.Index(words, string(b))
	if i < 0 {
		return fmt.Errorf("%q is not known; one of %s would do", b, strings.Join(words, ", "))
	}
	*v = T(i)
	return nil
}

// UnmarshalText reads 503, 429 or queue.
func (b *Busy) UnmarshalText(text []byte) error { return word(b, text, "503", "429", "queue") }

// UnmarshalText reads roundRobin, random or leastRequest.
func (p *Pick) UnmarshalText(text []byte) error {
	return word(p, text, "roundRobin", "random", "leastRequest")
}

// UnmarshalText reads floor, atLeastOne or overshoot.
func (r *CapRule) UnmarshalText(text []byte) error {
	return word(r, text, "floor", "atLeastOne", "overshoot")
}
