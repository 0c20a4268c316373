package simulate

import (
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// handmade is what people write by hand: a semaphore of 64 that waits as long as the
// deadline, and one attempt.
func handmade(deadline time.Duration) Client {
	return Client{Pool: Gate{Places: 64, Queue: Unbounded}, Deadline: deadline, Attempts: 1}
}

// need is a plan of what the stated latency needs and no more, with half of the time
// for a second attempt: what a plan was before it forgave a slow upstream.
func need(t *testing.T, d capacity.Demand) capacity.Plan {
	n, err := capacity.PlacesFor(d.Rate*d.Latency.Seconds()/float64(d.Replicas), 0.05)
	if err != nil {
		t.Fatal(err)
	}
	return capacity.Plan{InFlight: n, Deadline: 9 * time.Second, Wait: 450 * time.Millisecond, Attempts: 2}
}

// TestADefaultPlanIsNoWorseThanASemaphore plays the same faults, for as long as is
// measured, with the plan that rate and latency alone make.
func TestADefaultPlanIsNoWorseThanASemaphore(t *testing.T) {
	for _, fault := range []struct {
		name   string
		slower float64
		change func(*Upstream)
	}{
		{"none", 1, nil},
		{"slow ×3", 3, nil},
		{"slow ×10", 10, nil},
		{"slow ×100", 100, nil},
		{"hang", 1, func(u *Upstream) { u.Hang = 1 }},
		{"50 % errors", 1, func(u *Upstream) { u.Errors = 0.5 }},
	} {
		for _, d := range []capacity.Demand{
			{Rate: 100, Latency: 5 * time.Millisecond, Replicas: 1},
			{Rate: 333, Latency: 20 * time.Millisecond, Replicas: 1},
			{Rate: 20, Latency: 300 * time.Millisecond, Replicas: 2},
			{Rate: 20, Latency: 1200 * time.Millisecond, Replicas: 1},
		} {
			plan, err := d.Plan()
			if err != nil {
				t.Fatal(err)
			}
			served := func(c Client) float64 {
				s, err := Peak(d, plan)
				if err != nil {
					t.Fatal(err)
				}
				s.Service.Client, s.Duration, s.Settle = c, 2*time.Minute, 30*time.Second
				s.Upstream.Latency = Latency{Mean: time.Duration(fault.slower * float64(d.Latency)), CV: 1}
				if fault.change != nil {
					fault.change(&s.Upstream)
				}
				r, err := Run(t.Context(), s, nil)
				if err != nil {
					t.Fatal(err)
				}
				return 1 - r.Calls.FailedShare
			}
			repeated := clientOf(t, plan)
			once := repeated
			once.Attempt, once.Attempts = plan.AttemptOf(false), 1
			ours, theirs := served(once), served(handmade(10*time.Second))
			t.Logf("%-12s %3.0f/s of %6v: the need alone %5.1f %%, the default %5.1f %%, and for what may be repeated %5.1f %%, a semaphore of 64 %5.1f %%",
				fault.name, d.Rate, d.Latency, 100*served(clientOf(t, need(t, d))), 100*ours, 100*served(repeated), 100*theirs)
			// An answer between nine tenths of the deadline and all of it comes too late here.
			if ours < theirs-0.03 {
				t.Errorf("%s at %v/s of %v: %v served of 1, want no fewer than the %v of a semaphore of 64", fault.name, d.Rate, d.Latency, ours, theirs)
			}
			if fault.slower <= 10 && 46*d.Latency < plan.Once && fault.change == nil && ours < 0.999 {
				t.Errorf("%s at %v/s of %v: %v served of 1, want all", fault.name, d.Rate, d.Latency, ours)
			}
		}
	}
}

func clientOf(t *testing.T, p capacity.Plan) Client {
	t.Helper()
	c, err := ClientOf(p)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
