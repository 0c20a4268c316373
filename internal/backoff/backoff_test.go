package backoff

import (
	"testing"
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

func TestTheZeroValueDoesNotPause(t *testing.T) {
	if got := (Exponential{}).Pause(5); got != 0 {
		t.Errorf("Pause(5) = %v, want 0s", got)
	}
}
