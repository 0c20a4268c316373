// Package retryafter reads and writes the Retry-After header of RFC 9110,
// section 10.2.3.
package retryafter

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Parse returns the wait that a header's value asks for, in either of its forms:
// a count of seconds, or an HTTP date, which is compared with now. A date that
// has passed asks for no wait. The wait is never longer than most: the header is
// the word of another process, and a slip of a digit there must not stop this
// one for a day.
//
// It is false if the value is in neither form.
func Parse(value string, now time.Time, most time.Duration) (time.Duration, bool) {
	value = strings.Trim(value, " \t")
	most = max(most, 0)
	if digits(value) {
		seconds, err := strconv.ParseInt(value, 10, 64)
		if err != nil || seconds > int64(most/time.Second) {
			return most, true // more digits than an int64 holds, or more than the cap
		}
		return time.Duration(seconds) * time.Second, true
	}
	date, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(date.Sub(now), 0), most), true
}

// digits is what RFC 9110 calls 1*DIGIT. It is tempting to leave the check to
// strconv; but that takes a sign.
func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Format writes a wait as whole seconds, rounded up, at least 1. Rounded down,
// a wait of 900 ms would read "0": come back at once.
func Format(wait time.Duration) string {
	return strconv.FormatInt(Seconds(wait), 10)
}

// Seconds is the number that Format writes. It is tempting to round
// wait.Seconds() up; but a float drops the nanosecond that makes the difference.
func Seconds(wait time.Duration) int64 {
	seconds := int64(wait / time.Second)
	if wait%time.Second > 0 {
		seconds++
	}
	return max(1, seconds)
}
