package capacity

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"
)

func FuzzPlanProperties(f *testing.F) {
	f.Add(33, 0, 0, 0, int64(0), int64(0), int64(0), 0, 0.0, int64(0), 0, 0.0, 6)
	f.Add(200, 2, 100, NoQueue, int64(1e8), int64(5e9), int64(2e9), NoRetry, 0.2, int64(1e9), 1, 120.5, 7)
	f.Add(1, 1, 1, 1, int64(1000), int64(1e6), int64(2000), 10, 1.0, int64(1000), 1, 1e9, 1)
	f.Fuzz(func(t *testing.T, inFlight, connections, streams, queue int, wait, deadline, attempt int64, attempts int, share float64, idle int64, warm int, rate float64, n int) {
		p := Plan{
			InFlight: inFlight, Connections: connections, Streams: streams, Queue: queue,
			Wait: time.Duration(wait), Deadline: time.Duration(deadline), Attempt: time.Duration(attempt),
			Attempts: attempts, RetryShare: share, BodyIdle: time.Duration(idle), Warm: warm, Rate: rate, Latency: time.Duration(idle),
		}
		resolved, err := p.Resolve()
		if err != nil {
			if len(fields(err)) == 0 {
				t.Errorf("(%+v).Resolve() = %v, which names no field", p, err)
			}
			return
		}
		if again, err := resolved.Resolve(); err != nil || again != resolved {
			t.Errorf("Resolve of the resolved %+v = %+v, %v", resolved, again, err)
		}
		for _, want := range []Plan{p, resolved} {
			b, err := json.Marshal(want)
			var got Plan
			if err2 := json.Unmarshal(b, &got); err != nil || err2 != nil || got != want {
				t.Errorf("through JSON %+v = %+v, %v, %v", want, got, err, err2)
			}
		}
		part, err := p.Share(n)
		if (err != nil) != (n < 1 || n > resolved.InFlight) {
			t.Errorf("(%+v).Share(%d) = %v, %v", p, n, part, err)
		}
		if err == nil && (part.InFlight > resolved.InFlight/n || part.InFlight < 1) {
			t.Errorf("(%+v).Share(%d).InFlight = %d of %d", p, n, part.InFlight, resolved.InFlight)
		}
	})
}

// FuzzDemandIsMonotone holds that more traffic never needs fewer places, and that
// a plan keeps every bound.
func FuzzDemandIsMonotone(f *testing.F) {
	f.Add(120.0, int64(1.2e9), 6, 200, 1.3, 0, 0, int64(5e9), 1.1, 0.0, 0.0)
	f.Add(1.0, int64(1e6), 1, 0, 0.0, 25, 25, int64(0), 2.0, 0.01, 1.5)
	f.Add(1e5, int64(5e7), 100, 20000, 1.0, 10, 0, int64(1e9), 1.5, 0.0, 3.0)
	f.Fuzz(func(t *testing.T, rate float64, latency int64, replicas, limit int, headroom float64, surge, unavailable int, deadline int64, more, chance, slow float64) {
		if rate*float64(latency)/1e9 > 1e5 || !(more >= 1) {
			return // large loads are TestErlangHoldsAtAHundredThousandPlaces
		}
		d := Demand{
			Rate: rate, Latency: time.Duration(latency), Replicas: replicas, Limit: limit, Headroom: headroom, WaitChance: chance,
			Surge: Pods{Percent: surge}, Unavailable: Pods{Percent: unavailable}, Deadline: time.Duration(deadline),
		}
		if slow > 1 && slow < 1000 {
			d.Degraded = time.Duration(float64(latency) * slow)
		}
		p, err := d.Plan()
		if err != nil {
			if e, ok := err.(*Infeasible); ok {
				checkInfeasible(t, e)
			}
			return
		}
		if again, err := p.Resolve(); err != nil || again != p {
			t.Errorf("(%+v).Plan() = %+v, which resolves to %+v, %v", d, p, again, err)
		}
		if limit > 0 && p.Connections*replicas > limit {
			t.Errorf("(%+v).Plan() = %v: %d replicas exceed the limit", d, p, replicas)
		}
		if load := Little(rate, d.Latency.Seconds()); float64(p.InFlight*replicas) < load*(1-1e-9) {
			t.Errorf("(%+v).Plan() = %v: fewer places than the %v in flight", d, p, load)
		}
		faster, slower := d, d
		faster.Rate *= more
		slower.Latency = time.Duration(math.Min(float64(latency)*more, 1e15))
		slower.Degraded = time.Duration(math.Min(float64(d.Degraded)*more, 1e15))
		for _, harder := range []Demand{faster, slower} {
			if q, err := harder.Plan(); err == nil && q.InFlight < p.InFlight {
				t.Errorf("(%+v).Plan() has %d places, with more traffic %d", d, p.InFlight, q.InFlight)
			}
		}
	})
}

func checkInfeasible(t *testing.T, e *Infeasible) {
	if e.Floor.Places <= e.Ceiling.Places {
		t.Errorf("(%+v) is infeasible with floor %v and ceiling %v", e.Demand, e.Floor, e.Ceiling)
	}
	if p, _, err := e.Best(); err == nil && p.InFlight != e.Ceiling.Places {
		t.Errorf("(%+v): Best() = %v, want %d places", e.Demand, p, e.Ceiling.Places)
	}
	if e.Explain() == "" || e.Error() == "" {
		t.Errorf("(%+v) does not explain itself", e.Demand)
	}
	for _, l := range e.Levers {
		pulled := e.Demand
		switch l.Name {
		case "limit":
			if l.Whole > math.MaxInt32 {
				continue
			}
			pulled.Limit = int(l.Whole)
		case "rate":
			pulled.Rate = l.Whole / e.Demand.Headroom * (1 - 1e-9)
		default:
			continue
		}
		if _, err := pulled.Plan(); err != nil && pulled.Rate > 0 {
			if again, ok := errors.AsType[*Infeasible](err); ok {
				t.Errorf("(%+v) with %s %v is still infeasible: %v", e.Demand, l.Name, l.Whole, again)
			}
		}
	}
}

func FuzzPlanJSON(f *testing.F) {
	f.Add([]byte(`{"inFlight":24,"queue":-1,"wait":"80ms","deadline":"5s","retryShare":0.1}`))
	f.Add([]byte(`{"inFlight":1,"wait":"1h1m1s1ms1us1ns"}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var p Plan
		if json.Unmarshal(b, &p) != nil {
			return
		}
		out, err := json.Marshal(p)
		var again Plan
		if err2 := json.Unmarshal(out, &again); err != nil || err2 != nil || again != p {
			t.Errorf("%s reads as %+v, writes %s and reads again as %+v (%v, %v)", b, p, out, again, err, err2)
		}
	})
}

// FuzzFormulasStayInTheirRange holds for any argument: a chance is in [0, 1] or
// NaN, and Erlang B falls with each place.
func FuzzFormulasStayInTheirRange(f *testing.F) {
	f.Add(33, 10, 20.0, 1.2, 0.5)
	f.Add(1, 0, 1e300, 1e300, 1e-300)
	f.Add(1000, 1000, 1e-300, 1e-5, 100.0)
	f.Fuzz(func(t *testing.T, places, extra int, rate, latency, x float64) {
		places, extra = places%2000, extra%2000
		load := rate * latency
		q := Bounded(places, extra, rate, latency)
		for name, got := range map[string]float64{
			"ErlangB": ErlangB(places, load), "ErlangC": ErlangC(places, load), "WaitBeyond": WaitBeyond(places, rate, latency, x),
			"CallBeyond": CallBeyond(places, rate, latency, x), "Refused": q.Refused, "WaitChance": q.WaitChance,
			"Success": Collapse(places, rate, Lognormal(latency, x), 10).Success, "Loss": Loss(places, load),
			"PoissonAtLeast": PoissonAtLeast(places, min(load, 1e6)), "DialChance": DialChance(min(load, 2000), places),
		} {
			if got < 0 || got > 1+1e-9 {
				t.Errorf("%s(places %d, queue %d, rate %v, latency %v, x %v) = %v, want a chance", name, places, extra, rate, latency, x, got)
			}
		}
		if b := ErlangB(places, load); places > 0 && b > ErlangB(places-1, load) {
			t.Errorf("ErlangB(%d, %v) = %v, more than with one place less", places, load, b)
		}
	})
}
