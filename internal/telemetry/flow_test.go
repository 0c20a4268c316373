package telemetry

import (
	"math"
	"testing"
	"time"
)

func TestRequiredPlacesAreRateTimesHold(t *testing.T) {
	var f Flow
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 5 * 60 * 20 { // 20 calls per second for five minutes, each of 1.2 s
		f.Held(now, 1200*time.Millisecond)
		now = now.Add(50 * time.Millisecond)
	}
	if got, want := f.Required(now), 24.0; math.Abs(got-want) > 0.5 {
		t.Errorf("Required() at 20/s and 1.2s = %.2f, want %.2f", got, want)
	}
}

func TestRefusedCallsNeedPlacesToo(t *testing.T) {
	var f Flow
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 600 {
		f.Held(now, time.Second)
		f.Refused(now)
		now = now.Add(100 * time.Millisecond)
	}
	if got, want := f.Required(now), 20.0; math.Abs(got-want) > 0.5 {
		t.Errorf("Required() with half refused = %.2f, want %.2f", got, want)
	}
}

func TestOldTrafficIsForgotten(t *testing.T) {
	var f Flow
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 1000 {
		f.Held(start, time.Second)
	}
	if got := f.Required(start.Add(flowWindow + 2*slotLength)); got != 0 {
		t.Errorf("Required() after a quiet minute = %v, want 0", got)
	}
	if got := f.Required(start); got != 1000 {
		t.Errorf("Required() within the first second = %v, want 1000", got)
	}
}

func TestAnUnusedFlowNeedsNothing(t *testing.T) {
	var f Flow
	if rate, hold := f.Measure(time.Now()); rate != 0 || hold != 0 {
		t.Errorf("Measure() = %v, %v, want 0, 0", rate, hold)
	}
}
