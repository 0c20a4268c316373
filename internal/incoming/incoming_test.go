package incoming

import (
	"net/http"
	"strconv"
	"testing"
	"time"
)

func TestTheAttemptIsKeptInTheContext(t *testing.T) {
	ctx := t.Context()
	if got := Attempt(ctx); got != 1 {
		t.Errorf("Attempt(nothing said) = %d, want 1", got)
	}
	if got := Attempt(NewContext(ctx, 3)); got != 3 {
		t.Errorf("Attempt(NewContext(3)) = %d, want 3", got)
	}
}

func TestReadsThePlainNumbersOfAProxy(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"1": time.Millisecond, "250": 250 * time.Millisecond, "3600000": time.Hour,
	} {
		if got, ok := Timeout(http.Header{TimeoutHeader: {value}}); got != want || !ok {
			t.Errorf("Timeout(%q) = %v, %v, want %v, true", value, got, ok, want)
		}
	}
	for value, want := range map[string]int{"1": 1, "2": 2, "100": 100} {
		if got, ok := AttemptOf(http.Header{AttemptHeader: {value}}); got != want || !ok {
			t.Errorf("AttemptOf(%q) = %d, %v, want %d, true", value, got, ok, want)
		}
	}
}

func TestIgnoresWhatNoProxyWrites(t *testing.T) {
	for _, values := range [][]string{
		nil, {}, {""}, {"0"}, {"-1"}, {"+1"}, {"01"}, {" 1"}, {"1 "}, {"1.5"}, {"1e2"}, {"0x1"}, {"1_0"}, {"٣"}, {"NaN"},
		{"1", "2"}, {"1, 2"}, {"3600001"}, {"9223372036854775807"}, {"9223372036854775808"},
	} {
		if got, ok := Timeout(http.Header{TimeoutHeader: values}); got != 0 || ok {
			t.Errorf("Timeout(%q) = %v, %v, want 0, false", values, got, ok)
		}
		if got, ok := AttemptOf(http.Header{AttemptHeader: values}); got != 0 || ok {
			t.Errorf("AttemptOf(%q) = %v, %v, want 0, false", values, got, ok)
		}
	}
	if _, ok := AttemptOf(http.Header{AttemptHeader: {"101"}}); ok {
		t.Error("AttemptOf(101) is taken, want ignored")
	}
}

func TestTheHeaderNamesAreCanonical(t *testing.T) {
	for _, name := range []string{TimeoutHeader, AttemptHeader} {
		if want := http.CanonicalHeaderKey(name); name != want {
			t.Errorf("header name = %q, want %q", name, want)
		}
	}
}

func FuzzTimeout(f *testing.F) {
	for _, value := range []string{"250", "0", "-1", "3600001", "1e3", "007", "٣"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, ok := Timeout(http.Header{TimeoutHeader: {value}})
		switch {
		case !ok && got != 0, ok && (got < time.Millisecond || got > time.Hour):
			t.Errorf("Timeout(%q) = %v, %v, want a time in [1ms, 1h], or 0, false", value, got, ok)
		case ok && strconv.FormatInt(got.Milliseconds(), 10) != value:
			t.Errorf("Timeout(%q) = %v, want only the plain decimal of it taken", value, got)
		}
	})
}
