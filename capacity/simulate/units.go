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

// String writes 120/s.
func (r Rate) String() string { return strconv.FormatFloat(float64(r), 'g', -1, 64) + "/s" }

// UnmarshalText reads a rate per second: a scenario has no use for other units.
func (r *Rate) UnmarshalText(b []byte) error {
	x, err := parseUnit(string(b), "/s", "120/s")
	*r = Rate(x)
	return err
}

// A Share is a part of a whole; files write it as 10%.
type Share float64

// String writes 10%.
func (s Share) String() string { return strconv.FormatFloat(100*float64(s), 'g', 6, 64) + "%" }

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

// String writes what files have: a number, none or unbounded.
func (q Queue) String() string {
	switch q {
	case capacity.NoQueue:
		return "none"
	case Unbounded:
		return "unbounded"
	}
	return strconv.Itoa(int(q))
}

// String writes what files have: a number or off.
func (t Threshold) String() string {
	if t == Off {
		return "off"
	}
	return strconv.Itoa(int(t))
}

// The words that files have, in the order of the constants.
const (
	busyWords = "503 429 queue"
	pickWords = "roundRobin random leastRequest"
	capWords  = "floor atLeastOne overshoot"
)

// word is the i-th of words, or its number if there is none.
func word[T ~uint8](i T, words string) string {
	if all := strings.Fields(words); int(i) < len(all) {
		return all[i]
	}
	return strconv.Itoa(int(i))
}

// wordOf sets v to the index of b in words.
func wordOf[T ~uint8](v *T, b []byte, words string) error {
	all := strings.Fields(words)
	i := slices.Index(all, string(b))
	if i < 0 {
		return fmt.Errorf("%q is not known; one of %s would do", b, strings.Join(all, ", "))
	}
	*v = T(i)
	return nil
}

// String writes 503, 429 or queue.
func (b Busy) String() string { return word(b, busyWords) }

// UnmarshalText reads what String writes.
func (b *Busy) UnmarshalText(text []byte) error { return wordOf(b, text, busyWords) }

// String writes roundRobin, random or leastRequest.
func (p Pick) String() string { return word(p, pickWords) }

// UnmarshalText reads what String writes.
func (p *Pick) UnmarshalText(text []byte) error { return wordOf(p, text, pickWords) }

// String writes floor, atLeastOne or overshoot.
func (r CapRule) String() string { return word(r, capWords) }

// UnmarshalText reads what String writes.
func (r *CapRule) UnmarshalText(text []byte) error { return wordOf(r, text, capWords) }
