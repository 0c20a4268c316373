package retryafter

import (
	"math"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestReadsBothFormsAndCapsThem(t *testing.T) {
	const most = time.Minute
	for value, want := range map[string]time.Duration{
		"0":                              0,
		"7":                              7 * time.Second,
		" 7\t":                           7 * time.Second,
		"007":                            7 * time.Second,
		"60":                             most,
		"61":                             most,
		"9223372036854775807":            most, // times a second, this overflows
		"99999999999999999999999999":     most,
		"Sun, 01 Mar 2026 12:00:30 GMT":  30 * time.Second,
		"Sunday, 01-Mar-26 12:00:30 GMT": 30 * time.Second,
		"Sun Mar  1 12:00:30 2026":       30 * time.Second,
		"Sun, 01 Mar 2026 11:59:59 GMT":  0,
		"Fri, 31 Dec 9999 23:59:59 GMT":  most,
	} {
		if got, ok := Parse(value, now, most); got != want || !ok {
			t.Errorf("Parse(%q) = %v, %v, want %v, true", value, got, ok, want)
		}
	}
}

func TestRefusesWhatIsNeitherForm(t *testing.T) {
	for _, value := range []string{
		"", " ", "-1", "+1", "1.5", "1s", "0x10", "1 2", "1,2", "٣", "soon", "1e3", "Sun, 01 Mar 2026",
	} {
		if got, ok := Parse(value, now, time.Minute); got != 0 || ok {
			t.Errorf("Parse(%q) = %v, %v, want 0, false", value, got, ok)
		}
	}
}

func TestANegativeCapIsNoWait(t *testing.T) {
	if got, ok := Parse("5", now, -time.Second); got != 0 || !ok {
		t.Errorf("Parse(5, cap -1s) = %v, %v, want 0, true", got, ok)
	}
}

func TestWritesWholeSecondsRoundedUpAndNeverZero(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		-time.Second:                   "1",
		0:                              "1",
		1:                              "1",
		900 * time.Millisecond:         "1",
		time.Second:                    "1",
		time.Second + time.Millisecond: "2",
		time.Minute:                    "60",
		9e9*time.Second + 1:            "9000000001",
	} {
		if got := Format(wait); got != want {
			t.Errorf("Format(%v) = %q, want %q", wait, got, want)
		}
	}
}

func TestWritingASmallWaitDoesNotAllocate(t *testing.T) {
	if got := testing.AllocsPerRun(100, func() { Format(3 * time.Second) }); got != 0 {
		t.Errorf("Format(3s) = %v allocs, want 0", got)
	}
}

func FuzzParse(f *testing.F) {
	for _, value := range []string{"120", "0", "-1", "Sun, 01 Mar 2026 12:00:30 GMT", "99999999999999999999", "Sunday, 01-Mar-26 12:00:30 GMT"} {
		f.Add(value, int64(time.Minute))
	}
	f.Fuzz(func(t *testing.T, value string, most int64) {
		got, ok := Parse(value, now, time.Duration(most))
		if got < 0 || got > max(0, time.Duration(most)) || !ok && got != 0 {
			t.Errorf("Parse(%q, %v) = %v, %v, want a wait in [0, cap]", value, time.Duration(most), got, ok)
		}
	})
}

func FuzzFormatIsReadBackAsTheNextWholeSecond(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(1500 * time.Millisecond))
	f.Add(int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, ns int64) {
		wait := time.Duration(ns)
		text := Format(wait)
		got, ok := Parse(text, now, math.MaxInt64)
		if !ok || got < time.Second || got < wait && got < math.MaxInt64 || wait > 0 && got > wait && got-wait >= time.Second {
			t.Errorf("Parse(Format(%v) = %q) = %v, %v, want the next whole second", wait, text, got, ok)
		}
	})
}
