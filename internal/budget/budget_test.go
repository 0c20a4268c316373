package budget

import (
	"math"
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestRetriesAreAShareOfSuccessfulRequests(t *testing.T) {
	b := New(0.2)
	now := epoch
	taken := 0
	for range 1000 { // 100 requests per second, all fine, and retries wanted for all
		b.Success(now)
		if b.Take(now) {
			taken++
		}
		now = now.Add(10 * time.Millisecond)
	}
	if want := 200 + Floor; taken != want {
		t.Errorf("retries for 1000 requests at 20%% = %d, want %d", taken, want)
	}
}

func TestAnOutageHasOnlyTheFloor(t *testing.T) {
	b := New(0.2)
	taken := 0
	for i := range 1000 {
		if b.Take(epoch.Add(time.Duration(i) * time.Millisecond)) {
			taken++
		}
	}
	if taken != Floor {
		t.Errorf("retries without a success = %d, want %d", taken, Floor)
	}
}

func TestTheWindowForgets(t *testing.T) {
	b := New(0.1)
	for range 100 {
		b.Success(epoch)
	}
	if got, want := b.Balance(epoch), 10.0+Floor; math.Abs(got-want) > 1e-9 {
		t.Errorf("Balance() = %v, want %v", got, want)
	}
	if got, want := b.Balance(epoch.Add(slots*slotLength)), float64(Floor); got != want {
		t.Errorf("Balance() after the window = %v, want %v", got, want)
	}
}

func TestChargesMayOverdraw(t *testing.T) {
	b := New(0.1)
	for range Floor + 2 {
		b.Charge(epoch)
	}
	if got := b.Balance(epoch); got != -2 {
		t.Errorf("Balance() = %v, want -2", got)
	}
	if b.Take(epoch) {
		t.Error("Take() with an overdrawn budget = true, want false")
	}
}

func TestAClockThatStepsBackIsHarmless(t *testing.T) {
	b := New(0.5)
	b.Success(epoch)
	b.Success(epoch.Add(-time.Hour))
	if got, want := b.Balance(epoch), 1.0+Floor; got != want {
		t.Errorf("Balance() = %v, want %v", got, want)
	}
}
