package fleet

import (
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestReserveRefusesWhatDoesNotFit(t *testing.T) {
	for _, c := range []struct {
		name            string
		whole           capacity.Plan
		replicas, floor int
		want            string // in the error
	}{
		{"a broken plan", capacity.Plan{InFlight: -1}, 2, 0, "Plan.InFlight: -1"},
		{"no replicas", capacity.Plan{InFlight: 200}, 0, 0, "maxReplicas: 0 is not in [1, 200]"},
		{"more replicas than places", capacity.Plan{InFlight: 200}, 201, 0, "maxReplicas: 201 is not in [1, 200]"},
		{"a negative floor", capacity.Plan{InFlight: 200}, 12, -1, "Options.Floor: -1 is not in [1, 16]"},
		{"floors above the limit", capacity.Plan{InFlight: 200}, 12, 17, "4 would do"},
	} {
		_, err := NewReserve(c.whole, c.replicas, c.floor)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("NewReserve(%s) = %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestReserveKeepsAFloorForEveryReplica(t *testing.T) {
	for _, c := range []struct {
		limit, replicas, floor           int
		wantFloor, wantPool, even6, many int // many is twice the replicas
	}{
		{200, 12, 0, 4, 152, 25, 4},
		{200, 12, 2, 2, 176, 29, 6},
		{200, 12, 16, 16, 8, 1, 0},
		{12, 12, 0, 1, 0, 0, 0},
	} {
		r, err := NewReserve(capacity.Plan{InFlight: c.limit}, c.replicas, c.floor)
		if err != nil {
			t.Fatalf("NewReserve(%d, %d, %d) = %v, want nil", c.limit, c.replicas, c.floor, err)
		}
		if r.Floor() != c.wantFloor || r.Pool() != c.wantPool || r.Even(6) != c.even6 || r.Even(2*c.replicas) != c.many {
			t.Errorf("NewReserve(%d, %d, %d): floor %d, pool %d, even %d and %d, want %d, %d, %d and %d",
				c.limit, c.replicas, c.floor, r.Floor(), r.Pool(), r.Even(6), r.Even(2*c.replicas), c.wantFloor, c.wantPool, c.even6, c.many)
		}
	}
}

func TestAPartThatIsAnEqualShareIsThePlanOfShare(t *testing.T) {
	whole := capacity.Plan{InFlight: 240, Connections: 120, Streams: 4, Queue: 480, Warm: 24, Rate: 60, Deadline: 4 * time.Second}
	for _, n := range []int{1, 2, 4, 6, 12} {
		r, err := NewReserve(whole, 24, 0)
		if err != nil {
			t.Fatal(err)
		}
		want, err := whole.Share(n)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			r.maxReplicas, r.floor = 1, 1 // the whole, which a reserve never hands out to one
		}
		if got, err := r.Plan(want.InFlight - r.Floor()); err != nil || got != want {
			t.Errorf("Plan(%d) = %v, %v, want %v", want.InFlight-r.Floor(), got, err, want)
		}
	}
}

func TestAPartStaysInThePool(t *testing.T) {
	r, err := NewReserve(capacity.Plan{InFlight: 200}, 12, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, above := range []int{-1, r.Pool() + 1} {
		if got, err := r.Plan(above); err == nil {
			t.Errorf("Plan(%d) = %v, want an error", above, got)
		}
	}
}

// FuzzEveryPartResolves finds a plan that resolves, but of which some part does
// not, or whose parts together are more than the whole.
func FuzzEveryPartResolves(f *testing.F) {
	f.Add(200, 0, 0, 0, 0, 0.0, 12, 0, 6)
	f.Add(200, 100, 4, capacity.NoQueue, 3, 120.0, 24, 2, 24)
	f.Add(1_000_000, 1_000_000, 1, 1_000_000, 1_000_000, 1e9, 3, 333_333, 1)
	f.Add(7, 2, 100, 1, 1, 0.5, 7, 1, 3)
	f.Fuzz(func(t *testing.T, places, connections, streams, queue, warm int, rate float64, replicas, floor, n int) {
		whole := capacity.Plan{InFlight: places, Connections: connections, Streams: streams, Queue: queue, Warm: warm, Rate: rate}
		r, err := NewReserve(whole, replicas, floor)
		if err != nil {
			return
		}
		n = min(max(n, 1), replicas)
		for _, above := range []int{0, 1, r.Even(n), r.Even(1), r.Pool()} {
			if above > r.Pool() {
				continue
			}
			plan, err := r.Plan(above)
			if err != nil {
				t.Fatalf("NewReserve(%+v, %d, %d).Plan(%d) = %v, want a plan", whole, replicas, floor, above, err)
			}
			if plan.InFlight != r.Floor()+above || plan.Connections > max(r.Whole().Connections, 1) || plan.Rate > r.Whole().Rate {
				t.Fatalf("Plan(%d) = %v, want no more than the part of %v", above, plan, r.Whole())
			}
		}
		if sum := n*(r.Floor()+r.Even(n)) + (replicas-n)*r.Floor(); sum > places {
			t.Fatalf("%d replicas with a share and %d with a floor have %d places of %d", n, replicas-n, sum, places)
		}
	})
}
