package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestTheBoundDoublesUpToTheCap(t *testing.T) {
	e := Exponential{Base: 10 * time.Millisecond, Cap: 70 * time.Millisecond}
	for i, ms := range []int64{10, 20, 40, 70, 70} {
		if got := e.Bound(i + 1); got.Milliseconds() != ms {
			t.Errorf("Bound(%d) = %v, want %dms", i+1, got, ms)
		}
	}
	if got := e.Bound(1_000_000); got != e.Cap {
		t.Errorf("Bound(1000000) = %v, want %v", got, e.Cap)
	}
}

func TestPausesFillTheWholeRange(t *testing.T) {
	e := Exponential{Base: time.Second, Cap: time.Second}
	low, high := 0, 0
	for range 1000 {
		switch p := e.Pause(3); {
		case p < 0 || p > time.Second:
			t.Fatalf("Pause(3) = %v, want within [0s, 1s]", p)
		case p < 250*time.Millisecond:
			low++
		case p > 750*time.Millisecond:
			high++
		}
	}
	if low < 150 || high < 150 {
		t.Errorf("of 1000 pauses %d are in the lowest quarter and %d in the highest, want about 250 each", low, high)
	}
}

func TestAHalvedPauseHasAFloor(t *testing.T) {
	e := Exponential{Base: 20 * time.Millisecond, Cap: time.Second}
	for n := range 10 {
		if got, most := e.Half(n+1), e.Bound(n+1); got < most/2 || got > most {
			t.Errorf("Half(%d) = %v, want within [%v, %v]", n+1, got, most/2, most)
		}
	}
	if got := (Exponential{}).Half(1); got != 0 {
		t.Errorf("Half(1) of the zero value = %v, want 0s", got)
	}
}

func TestTheZeroValueDoesNotPause(t *testing.T) {
	if got := (Exponential{}).Pause(5); got != 0 {
		t.Errorf("Pause(5) = %v, want 0s", got)
	}
}

func TestSleepEndsWithItsTimeOrItsContext(t *testing.T) {
	gone := errors.New("the customer has left")
	for _, tt := range []struct {
		d, left, want time.Duration
		err           error
	}{
		{time.Second, time.Minute, time.Second, nil},
		{time.Minute, time.Second, time.Second, gone},
		{0, time.Minute, 0, nil},
		{-1, 0, 0, gone},
		{time.Minute, 0, 0, gone},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), tt.left, gone)
			defer cancel()
			began := time.Now()
			err := Sleep(ctx, tt.d)
			if took := time.Since(began); took != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("Sleep(%v) with %v left = %v after %v, want %v after %v", tt.d, tt.left, err, took, tt.err, tt.want)
			}
		})
	}
}
