package capacity

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

var processor = Demand{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200}

func TestPlanTakesTheLargestFloorWithinTheLimit(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Demand)
		want   int
	}{
		{"the limit cuts the target for waits", func(d *Demand) { d.Headroom = 1.3 }, 33},
		{"under a high limit the target for waits decides", func(d *Demand) { d.Headroom, d.Limit = 1.3, 1200 }, 34},
		{"twice the peak needs no more for waits", func(d *Demand) { d.Limit = 1200 }, 48},
		{"one pod of surge leaves 28", func(d *Demand) { d.Headroom, d.Surge = 1, Pods{Count: 1} }, 28},
		{"streams multiply what a connection carries", func(d *Demand) { d.Headroom, d.Streams, d.Limit = 2, 10, 30 }, 48},
		{"the mean of the percentiles counts", func(d *Demand) {
			d.Latency, d.P50, d.P99, d.Limit = 0, 1200*time.Millisecond, 4800*time.Millisecond, 1200
			d.Headroom, d.WaitChance = 1, 0.99
		}, 29},
		{"a degraded latency is survived, with its retries", func(d *Demand) { d.Latency, d.Degraded = 300*time.Millisecond, 1500*time.Millisecond }, 33},
		{"a stated chance to wait is kept", func(d *Demand) { d.Headroom, d.WaitChance, d.Limit = 1, 0.01, 1200 }, 37},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := processor
			c.change(&d)
			if p, err := d.Plan(); err != nil || p.InFlight != c.want {
				t.Errorf("(%+v).Plan() = %v, %v, want %d in flight", d, p, err, c.want)
			}
		})
	}
}

func TestBoundsInARollout(t *testing.T) {
	type row struct {
		Replicas, Surge, Unavailable, Terminating int
		Most                                      int `json:"per_replica_max"`
		Least                                     int `json:"per_replica_min"`
		Feasible                                  bool
	}
	for name, r := range oracle[map[string]row](t, "formulas.json", "rollout_limit") {
		d := processor
		d.Replicas, d.Headroom = r.Replicas, 1
		d.Surge, d.Unavailable, d.Draining = Pods{Count: r.Surge}, Pods{Count: r.Unavailable}, r.Terminating
		if name == "2x_25_25" {
			d.Rate *= 2
		}
		d, err := d.resolve(Plan{})
		if err != nil {
			t.Fatal(err)
		}
		floors, err := d.floors()
		if err != nil {
			t.Fatal(err)
		}
		if least, most := bindingFloor(floors).Places, bindingCeiling(d.ceilings()).Places; least != r.Least || most != r.Most {
			t.Errorf("%s: bounds = [%d, %d], want [%d, %d]", name, least, most, r.Least, r.Most)
		}
		if _, err := d.Plan(); (err == nil) != r.Feasible {
			t.Errorf("%s: Plan() error = %v, want feasible %v", name, err, r.Feasible)
		}
	}
}

func TestInfeasibleCarriesItsNumbers(t *testing.T) {
	_, err := processor.Plan()
	e, ok := errors.AsType[*Infeasible](err)
	if !ok {
		t.Fatalf("Plan() = %v, want an *Infeasible", err)
	}
	if e.Floor.Places != 48 || e.Ceiling.Places != 33 || len(e.Ceilings) != 1 {
		t.Errorf("floor %v, ceilings %v, want 48 and 33 alone", e.Floor, e.Ceilings)
	}
	limit := oracle[map[string]map[string]number](t, "formulas.json", "little")["limit200"]
	near(t, "Factor", e.Factor, limit["multiple_of_120"])
	near(t, "WholeFactor", e.WholeFactor, 1.375)
	for i, want := range []struct {
		name          string
		shared, whole number
	}{
		{"limit", 288, 288},
		{"mean latency", limit["max_latency_at_240rps"], 0.825},
		{"rate", limit["max_rate_at_1.2s"], 165},
		{"refuse", 88.0 / 288, 0.3125},
	} {
		l := e.Levers[i]
		if l.Name != want.name {
			t.Errorf("lever %d = %q, want %q", i, l.Name, want.name)
		}
		near(t, want.name+" shared", l.Shared, want.shared)
		near(t, want.name+" whole", l.Whole, want.whole)
	}
	p, short, err := e.Best()
	if err != nil || p.InFlight != 33 || short.PeakRefused != 0 {
		t.Errorf("Best() = %v, %+v, %v, want 33 in flight and nothing refused at the peak", p, short, err)
	}
	near(t, "Carried", short.Carried, limit["rate_at_33x6"])
	near(t, "Refused", short.Refused, 0.3125)
}

func TestBestFailsWithoutAPlaceForEach(t *testing.T) {
	d := processor
	d.Limit = 5
	_, err := d.Plan()
	e, ok := errors.AsType[*Infeasible](err)
	if !ok {
		t.Fatalf("Plan() = %v, want an *Infeasible", err)
	}
	if p, _, err := e.Best(); err == nil {
		t.Errorf("Best() = %v, want an error", p)
	}
	if e.Explain() == "" || e.Error() == "" {
		t.Error("an infeasible demand without a place does not explain itself")
	}
}

func TestEachLeverMakesTheDemandFeasible(t *testing.T) {
	base := []Demand{processor,
		{Rate: 1000, P50: 30 * time.Millisecond, P99: 300 * time.Millisecond, Replicas: 7, MaxReplicas: 11, Limit: 77, Surge: Pods{Percent: 25}, Unavailable: Pods{Percent: 25}},
		{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 1, Surge: Pods{Percent: 25}, Unavailable: Pods{Percent: 25}},
		{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 1.3, WaitChance: 0.001, Draining: 1},
		{Rate: 5000, Latency: 20 * time.Millisecond, Replicas: 3, Limit: 3, Streams: 10},
		{Rate: 120, Latency: 300 * time.Millisecond, Degraded: 1200 * time.Millisecond, Replicas: 6, Limit: 100},
	}
	for _, d := range base {
		_, err := d.Plan()
		e, ok := errors.AsType[*Infeasible](err)
		if !ok {
			t.Fatalf("(%+v).Plan() = %v, want an *Infeasible", d, err)
		}
		for _, l := range e.Levers {
			pulled := d
			switch l.Name {
			case "limit":
				pulled.Limit = int(l.Whole)
			case "mean latency":
				// A latency in whole nanoseconds, on the safe side.
				pulled.P50, pulled.P99, pulled.Latency = 0, 0, time.Duration(l.Whole*1e9)
				pulled.Degraded = time.Duration(float64(d.Degraded) * l.Whole / d.mean())
			case "rate":
				pulled.Rate = l.Whole / e.Demand.Headroom
			case "refuse":
				pulled.Rate *= 1 - l.Whole
			}
			if _, err := pulled.Plan(); err != nil {
				t.Errorf("(%+v) with %s %v: %v", d, l.Name, l.Whole, err)
			}
			if l.Name == "rate" {
				pulled.Rate *= 1.001
				if p, err := pulled.Plan(); err == nil {
					t.Errorf("(%+v).Plan() = %v just beyond the lever, want an error", pulled, p)
				}
			}
		}
	}
}

func TestAPrintedLeverWouldDo(t *testing.T) {
	for _, d := range []Demand{processor, {Rate: 83.35, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200}, {Rate: 1000, Latency: 77 * time.Millisecond, Replicas: 7, Limit: 101, Headroom: 1.7}} {
		_, err := d.Plan()
		e, ok := errors.AsType[*Infeasible](err)
		if !ok {
			t.Fatalf("(%+v).Plan() = %v, want an *Infeasible", d, err)
		}
		_, levers, _ := strings.Cut(e.Explain(), "in whole places: ")
		var limit int
		var latency, rate float64
		if _, err := fmt.Sscanf(levers, "limit >= %d | mean latency <= %g s | rate <= %g/s", &limit, &latency, &rate); err != nil {
			t.Fatalf("Explain() has the levers %q: %v", levers, err)
		}
		bigger, quicker, slower := d, d, d
		bigger.Limit, quicker.Latency, slower.Rate = limit, time.Duration(latency*1e9), rate/e.Demand.Headroom
		for _, pulled := range []Demand{bigger, quicker, slower} {
			if _, err := pulled.Plan(); err != nil {
				t.Errorf("(%+v).Plan() = %v, want a plan, as %q promised", pulled, err, levers)
			}
		}
	}
}

func TestLeversThatCanNotBePulledAreNotOffered(t *testing.T) {
	d := processor
	d.Limit = 5
	_, err := d.Plan()
	if got, want := err.Error(), "with the limit divided in whole places: limit >= 288"; !strings.HasSuffix(got, want) {
		t.Errorf("Plan() = %q, want it to end in %q", got, want)
	}
}

func TestARemedyIsNotItselfRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*Demand)
		want   string
	}{
		{func(d *Demand) { d.Latency, d.Rate = 40*time.Minute, 1 }, "; 1h0m0s would do"},
		{func(d *Demand) { d.Latency, d.Rate = time.Hour, 1 }, "; a latency of 48m36s at most would do: no call may last longer than 1h0m0s"},
		{func(d *Demand) { d.Latency, d.Rate, d.Deadline = time.Minute, 1e9, time.Hour }, "; 2.5e+04/s would do"},
	} {
		d := processor
		d.Limit = 0
		c.change(&d)
		if _, err := d.Plan(); err == nil || !strings.HasSuffix(err.Error(), c.want) {
			t.Errorf("(%+v).Plan() = %v, want it to end in %q", d, err, c.want)
		}
	}
}

func TestTheLeastTrafficHasAPlace(t *testing.T) {
	d := Demand{Rate: math.SmallestNonzeroFloat64, Latency: time.Microsecond, Replicas: 1, Limit: 1}
	if p, err := d.Plan(); err != nil || p.InFlight != 1 {
		t.Errorf("(%+v).Plan() = %v, %v, want 1 place", d, p, err)
	}
}

func TestDemandRefusesNonsenseAllAtOnce(t *testing.T) {
	_, err := Demand{
		Rate: math.NaN(), Latency: -1, Replicas: -1, MaxReplicas: -1, Surge: Pods{Count: 1, Percent: 1}, Unavailable: Pods{Percent: 101},
		Draining: -1, Headroom: 0.5, WaitChance: 1, Limit: -1, Streams: -1, Deadline: 60_000 * time.Second,
	}.Plan()
	got := fields(err)
	slices.Sort(got)
	want := []string{"Deadline", "Draining", "Headroom", "Latency", "Limit", "MaxReplicas", "Rate", "Replicas", "Streams", "Surge", "Unavailable", "WaitChance"}
	if !slices.Equal(got, want) {
		t.Errorf("Plan() names %v, want %v", got, want)
	}
}

func TestDemandNamesTheField(t *testing.T) {
	for _, c := range []struct {
		field  string
		change func(*Demand)
	}{
		{"Rate", func(d *Demand) { d.Rate = 0 }},
		{"Rate", func(d *Demand) { d.Rate = math.Inf(1) }},
		{"Rate", func(d *Demand) { d.Rate = 1e8 }},
		{"Latency", func(d *Demand) { d.Latency = 0 }},
		{"Latency", func(d *Demand) { d.P50, d.P99 = 1e9, 2e9 }},
		{"Degraded", func(d *Demand) { d.Degraded = time.Second }},
		{"Degraded", func(d *Demand) { d.Degraded = -1 }},
		{"Deadline", func(d *Demand) { d.Limit, d.Degraded = 0, 9*time.Second }},
		{"P50", func(d *Demand) { d.Latency, d.P99 = 0, 1e9 }},
		{"P99", func(d *Demand) { d.Latency, d.P50 = 0, 1e9 }},
		{"P99", func(d *Demand) { d.Latency, d.P50, d.P99 = 0, 2e9, 1e9 }},
		{"P99", func(d *Demand) { d.Latency, d.P50, d.P99 = 0, 1000, time.Hour }},
		{"Replicas", func(d *Demand) { d.Replicas = 0 }},
		{"MaxReplicas", func(d *Demand) { d.MaxReplicas = 5 }},
		{"Unavailable", func(d *Demand) { d.Unavailable = Pods{Count: 6} }},
		{"Surge", func(d *Demand) { d.Surge = Pods{Count: -1} }},
		{"Headroom", func(d *Demand) { d.Headroom = math.NaN() }},
		{"WaitChance", func(d *Demand) { d.WaitChance = -0.05 }},
		{"Deadline", func(d *Demand) { d.Deadline = time.Second }},
	} {
		d := processor
		c.change(&d)
		if _, err := d.Plan(); !slices.Equal(fields(err), []string{c.field}) {
			t.Errorf("(%+v).Plan() = %v, want one mistake in %s", d, err, c.field)
		}
	}
}

func TestShortCallsAreTriedTwice(t *testing.T) {
	d := Demand{Rate: 100, P50: 20 * time.Millisecond, P99: 200 * time.Millisecond, Replicas: 3, Deadline: 2 * time.Second}
	p, err := d.Plan()
	if err != nil || p.Attempts != 2 || p.Attempt != 810*time.Millisecond || p.Deadline != 1800*time.Millisecond || p.Wait != 90*time.Millisecond {
		t.Errorf("(%+v).Plan() = %v, %v, want 2 attempts of 810ms within 1.8s, and a wait of 90ms", d, p, err)
	}
}

func TestADegradedLatencyIsNamedWhereItDecides(t *testing.T) {
	d := Demand{Rate: 10, Latency: 100 * time.Millisecond, Degraded: 4200 * time.Millisecond, Replicas: 1}
	x, err := d.Explain()
	if err != nil {
		t.Fatal(err)
	}
	if want := "4.05s would be left for each, the degraded latency is 4.2s"; x.Plan.Attempts != 1 || !strings.Contains(x.String(), want) {
		t.Errorf("(%+v).Explain() =\n%vwant 1 attempt and %q", d, x, want)
	}
}

func TestStatedSizesStayAndTheRestFollows(t *testing.T) {
	stated := Plan{InFlight: 10, Deadline: 6 * time.Second, Attempts: NoRetry, Queue: NoQueue}
	x, err := processor.Complete(stated)
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		InFlight: 10, Connections: 10, Streams: 1, Queue: NoQueue, Wait: 300 * time.Millisecond, Deadline: 6 * time.Second,
		Attempt: 5400 * time.Millisecond, Once: 5400 * time.Millisecond, Attempts: 1, RetryShare: 0.1, BodyIdle: 5 * time.Second, Warm: 10, Rate: 20, Latency: 1200 * time.Millisecond,
	}
	if x.Plan != want {
		t.Errorf("(%+v).Complete(%v) = %v, want %v", processor, stated, x.Plan, want)
	}
	for _, s := range x.Sizes() {
		wasStated := s.Field == "InFlight" || s.Field == "Deadline" || s.Field == "Attempts" || s.Field == "Queue"
		if wasStated != (s.Formula == "stated") {
			t.Errorf("size %+v, want stated = %v", s, wasStated)
		}
	}
}

func TestStatedSizesAreCheckedToo(t *testing.T) {
	for _, c := range []struct {
		stated Plan
		field  string
	}{
		{Plan{Deadline: time.Second}, "Deadline"},
		{Plan{InFlight: -1}, "InFlight"},
		{Plan{Streams: -1}, "Streams"},
		{Plan{Deadline: -1}, "Deadline"},
		{Plan{Attempts: 99}, "Attempts"},
	} {
		if x, err := processor.Complete(c.stated); !slices.Equal(fields(err), []string{c.field}) {
			t.Errorf("Complete(%+v) = %v, %v, want a mistake in %s", c.stated, x, err, c.field)
		}
	}
}
