package capacity

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWithoutALimitAFastUpstreamMayBecomeTenTimesSlower(t *testing.T) {
	for _, c := range []struct {
		rate     float64
		latency  time.Duration
		replicas int
		deadline time.Duration
	}{
		{100, 5 * time.Millisecond, 1, 0},
		{333, 20 * time.Millisecond, 1, 0},
		{5000, 20 * time.Millisecond, 4, 2 * time.Second},
		{40, 300 * time.Millisecond, 2, 0},
		{0.01, time.Millisecond, 100, 0},
	} {
		d := Demand{Rate: c.rate, Latency: c.latency, Replicas: c.replicas, Deadline: c.deadline}
		p, err := d.Plan()
		if err != nil {
			t.Fatal(err)
		}
		slow := 10 * c.latency.Seconds()
		each := c.rate / float64(c.replicas)
		if q := Bounded(p.InFlight, p.Queue, each, slow); q.Refused > 1e-6 || WaitBeyond(p.InFlight, each, slow, p.Wait.Seconds()) > 1e-3 {
			t.Errorf("(%+v).Plan() = %v: ten times slower %v of calls find the queue full and %v wait for too long", d, p, q.Refused, WaitBeyond(p.InFlight, each, slow, p.Wait.Seconds()))
		}
		if p.InFlight < 64 {
			t.Errorf("(%+v).Plan().InFlight = %d, want 64 or more", d, p.InFlight)
		}
	}
}

func TestWarmIsTheNeedAndNotWhatIsForgiven(t *testing.T) {
	for _, c := range []struct {
		d    Demand
		want Plan
	}{
		{Demand{Rate: 100, Latency: 5 * time.Millisecond, Replicas: 100}, Plan{InFlight: 64, Connections: 64, Warm: 1}},
		{Demand{Rate: 100, Latency: 5 * time.Millisecond, Replicas: 100, Streams: 100}, Plan{InFlight: 64, Connections: 1, Warm: 1}},
		{Demand{Rate: 100, Latency: 200 * time.Millisecond, Replicas: 1}, Plan{InFlight: 246, Connections: 246, Warm: 29}},
		{Demand{Rate: 100, Latency: 200 * time.Millisecond, Replicas: 1, Streams: 100}, Plan{InFlight: 246, Connections: 3, Warm: 1}},
	} {
		p, err := c.d.Plan()
		got := Plan{InFlight: p.InFlight, Connections: p.Connections, Warm: p.Warm}
		if err != nil || got != c.want {
			t.Errorf("(%+v).Plan() = %v, %v, want %v", c.d, p, err, c.want)
		}
	}
}

func TestALimitWinsOverWhatWouldBeForgiven(t *testing.T) {
	d := Demand{Rate: 100, Latency: 5 * time.Millisecond, Replicas: 1, Limit: 3}
	x, err := d.Explain()
	if err != nil {
		t.Fatal(err)
	}
	if want := "full at a mean of 30ms, 6 × the stated one"; x.Plan.InFlight != 3 || !strings.Contains(x.String(), want) {
		t.Errorf("(%+v).Explain() =\n%v, want 3 places and %q", d, x, want)
	}
}

// A slow upstream must not be given so many calls that, at half of its rate, each
// answer comes when its caller has gone.
func TestAnUpstreamAtHalfOfTheRateStillAnswersInTime(t *testing.T) {
	for ms := 1; ms < 4000; ms += 7 {
		d := Demand{Rate: 200, Latency: time.Duration(ms) * time.Millisecond, Replicas: 1}
		p, err := d.Plan()
		if err != nil {
			t.Fatal(err)
		}
		if p.InFlight <= max(forgivingPlaces, ceil(2*d.load())) {
			continue // what is stated asks for as many
		}
		if answered := float64(p.InFlight) / (d.Rate / 2); answered > p.Once.Seconds() {
			t.Errorf("(%+v).Plan() = %v: at half of the rate a full pool is answered in %v s", d, p, answered)
		}
	}
}

func TestWaitAndQueueAreInProportionToTheLatency(t *testing.T) {
	for _, c := range []struct {
		latency time.Duration
		limit   int
		want    string
	}{
		{100 * time.Microsecond, 0, "wait 100ms, queue 640 of 64 places"},
		{5 * time.Millisecond, 0, "wait 100ms, queue 640 of 64 places"},
		{20 * time.Millisecond, 0, "wait 200ms, queue 940 of 94 places"},
		{20 * time.Millisecond, 14, "wait 200ms, queue 140 of 14 places"},
		{300 * time.Millisecond, 400, "wait 450ms, queue 300 of 200 places"},
	} {
		d := Demand{Rate: 333, Latency: c.latency, Replicas: 1, Limit: c.limit}
		p, err := d.Plan()
		if got := fmt.Sprintf("wait %v, queue %d of %d places", p.Wait, p.Queue, p.InFlight); err != nil || got != c.want {
			t.Errorf("(%+v).Plan() = %v, %v: %s, want %s", d, p, err, got, c.want)
		}
	}
}

func TestACallThatIsNotRepeatedHasAllTheTime(t *testing.T) {
	p, err := Demand{Rate: 10, Latency: 50 * time.Millisecond, Replicas: 1}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.AttemptOf(false), 8100*time.Millisecond; got != want {
		t.Errorf("AttemptOf(false) = %v, want %v", got, want)
	}
	if got, want := p.AttemptOf(true), 4050*time.Millisecond; got != want {
		t.Errorf("AttemptOf(true) = %v, want %v", got, want)
	}
	p.Attempts, p.Attempt = NoRetry, 0
	if p, err = p.Resolve(); err != nil || p.AttemptOf(true) != 8100*time.Millisecond {
		t.Errorf("AttemptOf(true) of one attempt = %v, %v, want 8.1s", p.AttemptOf(true), err)
	}
}

// Otherwise the retries of one overload would be the load of the next.
func TestRetriesNeedPlacesToo(t *testing.T) {
	d := Demand{Rate: 100, Latency: 100 * time.Millisecond, Degraded: time.Second, Replicas: 1}
	for _, c := range []struct{ limit, stated, places, attempts int }{
		{0, 0, 134, 2}, {400, 0, 110, 2}, {110, 0, 110, 2}, {109, 0, 109, 1}, {100, 0, 100, 1}, {400, 110, 110, 2}, {400, 109, 109, 1},
	} {
		d.Limit = c.limit
		x, err := d.Complete(Plan{InFlight: c.stated})
		if err != nil || x.Plan.Attempts != c.attempts || x.Plan.InFlight != c.places {
			t.Errorf("(%+v).Complete(%d places) = %v, %v, want %d places and %d attempts", d, c.stated, x, err, c.places, c.attempts)
		}
	}
}

func TestAPlanSaysWhenItIsFull(t *testing.T) {
	for _, c := range []struct {
		p     Plan
		full  time.Duration
		slack float64
	}{
		{Plan{InFlight: 5, Rate: 300, Latency: 5 * time.Millisecond}, 16670 * time.Microsecond, 3.334},
		{Plan{InFlight: 5, Rate: 300}, 16670 * time.Microsecond, 0},
		{Plan{InFlight: 5}, 0, 0},
	} {
		if full, slack := c.p.FullAt(), c.p.Slack(); full != c.full || slack != c.slack {
			t.Errorf("(%v): FullAt() = %v, Slack() = %v, want %v, %v", c.p, full, slack, c.full, c.slack)
		}
	}
}
