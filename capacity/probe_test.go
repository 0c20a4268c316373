package capacity

import (
	"math"
	"testing"
)

func TestAProbeBehindRequestsFailsWhenTheDoorIsFull(t *testing.T) {
	for _, c := range []struct {
		name          string
		places, queue int
		rate, timeout float64 // of calls that take 1 s
		want          float64
	}{
		{"nobody is there", 4, 4, 0, 1, 0},
		{"without a queue it is refused as often as anybody", 4, NoQueue, 3, 1, ErlangB(4, 3)},
		{"a timeout that nobody meets leaves what is refused", 4, 10, 3, 1e4, Bounded(4, 10, 3, 1).Refused},
		{"no time at all leaves those who do not wait", 4, 10_000, 3, 0, ErlangC(4, 3)},
		{"in an overload what can not be carried is refused", 4, 30, 400, 1e4, 0.99},
		{"a wait beyond the timeout counts", 4, 10_000, 3, 0.5, WaitBeyond(4, 3, 1, 0.5)},
	} {
		if got := ProbeFails(c.places, c.queue, c.rate, 1, c.timeout); !(math.Abs(got-c.want) <= 1e-6) {
			t.Errorf("%s: ProbeFails(%d, %d, %v, 1, %v) = %v, want %v", c.name, c.places, c.queue, c.rate, c.timeout, got, c.want)
		}
	}
	if got := ProbeFails(0, 1, 1, 1, 1); !math.IsNaN(got) {
		t.Errorf("ProbeFails without places = %v, want NaN", got)
	}
}
