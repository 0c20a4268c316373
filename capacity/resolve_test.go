package capacity

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestResolveFillsEveryDefault(t *testing.T) {
	want := Plan{
		InFlight: 33, Connections: 33, Streams: 1, Queue: 33,
		Wait: 100 * time.Millisecond, Deadline: 10 * time.Second, Attempt: 4500 * time.Millisecond, Once: 9 * time.Second, Attempts: 2,
		RetryShare: 0.1, BodyIdle: 5 * time.Second, Warm: 33,
	}
	if got, err := (Plan{InFlight: 33}).Resolve(); err != nil || got != want {
		t.Errorf("Plan{InFlight: 33}.Resolve() = %+v, %v, want %+v", got, err, want)
	}
}

func TestDefaultsFollowWhatIsStated(t *testing.T) {
	for _, c := range []struct {
		name string
		plan Plan
		want func(Plan) bool
	}{
		{"streams divide connections, rounded up", Plan{InFlight: 144, Streams: 100}, func(p Plan) bool { return p.Connections == 2 && p.Warm == 2 }},
		{"no retry is one attempt", Plan{InFlight: 1, Attempts: NoRetry}, func(p Plan) bool { return p.Attempts == 1 && p.Attempt == 9*time.Second }},
		{"no queue stays none", Plan{InFlight: 1, Queue: NoQueue}, func(p Plan) bool { return p.Queue == NoQueue }},
		{"a long attempt leaves room for one", Plan{InFlight: 1, Attempt: 6 * time.Second}, func(p Plan) bool { return p.Attempts == 1 }},
		{"a call that is sent once has all the time", Plan{InFlight: 1, Deadline: 20 * time.Second}, func(p Plan) bool { return p.Attempt == 9*time.Second && p.Once == 18*time.Second }},
		{"a stated attempt is every call's", Plan{InFlight: 1, Attempt: 2 * time.Second}, func(p Plan) bool { return p.Attempts == 2 && p.Once == 2*time.Second }},
		{"a stated once bounds a repeated attempt", Plan{InFlight: 1, Once: 3 * time.Second}, func(p Plan) bool { return p.Attempt == 3*time.Second && p.Once == 3*time.Second }},
		{"wait is at most a quarter of an attempt", Plan{InFlight: 1, Attempt: 200 * time.Millisecond}, func(p Plan) bool { return p.Wait == 50*time.Millisecond }},
		{"body idle is at most the deadline", Plan{InFlight: 1, Deadline: time.Second}, func(p Plan) bool { return p.BodyIdle == time.Second }},
		{"a stream's body may idle for longer", Plan{InFlight: 1, BodyIdle: time.Minute}, func(p Plan) bool { return p.BodyIdle == time.Minute }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, err := c.plan.Resolve(); err != nil || !c.want(got) {
				t.Errorf("(%+v).Resolve() = %+v, %v", c.plan, got, err)
			}
		})
	}
}

func TestResolveRefusesNonsenseAndNamesTheField(t *testing.T) {
	valid := Plan{InFlight: 10}
	for _, c := range []struct {
		field  string
		remedy string
		change func(*Plan)
	}{
		{"InFlight", "Demand.Plan", func(p *Plan) { p.InFlight = 0 }},
		{"InFlight", "Demand.Plan", func(p *Plan) { p.InFlight = -1 }},
		{"InFlight", "Demand.Plan", func(p *Plan) { p.InFlight = 1_000_001 }},
		{"Connections", "1 would do", func(p *Plan) { p.Connections = -1 }},
		{"Connections", "10 would do", func(p *Plan) { p.Connections = 9 }},
		{"Connections", "10 would do", func(p *Plan) { p.Connections = 11 }},
		{"Streams", "1 would do", func(p *Plan) { p.Streams = -100 }},
		{"Queue", "1 would do", func(p *Plan) { p.Queue = -2 }},
		{"Queue", "1000000 would do", func(p *Plan) { p.Queue = math.MaxInt }},
		{"Wait", "0 means the default", func(p *Plan) { p.Wait = -time.Second }},
		{"Wait", "100ms would do", func(p *Plan) { p.Wait = 5 * time.Second }},
		{"Wait", "100ms would do", func(p *Plan) { p.Wait = 10 * time.Second }},
		{"Wait", "100ms would do", func(p *Plan) { p.Wait, p.Attempt = 4500*time.Millisecond, 4500*time.Millisecond }},
		{"Deadline", "1m0s would do if milliseconds", func(p *Plan) { p.Deadline = 60_000 * time.Second }},
		{"Deadline", "10*time.Second", func(p *Plan) { p.Deadline = 10 }},
		{"Deadline", "1h0m0s would do", func(p *Plan) { p.Deadline = math.MaxInt64 }},
		{"Deadline", "0 means the default", func(p *Plan) { p.Deadline = math.MinInt64 }},
		{"Attempt", "9s would do", func(p *Plan) { p.Attempt = 11 * time.Second }},
		{"Attempt", "4.5s would do, or a Deadline of 12s", func(p *Plan) { p.Attempt, p.Attempts = 6*time.Second, 2 }},
		{"Once", "6s would do", func(p *Plan) {
			p.Once, p.Attempt, p.Attempts, p.Deadline = 3*time.Second, 6*time.Second, 1, 6*time.Second
		}},
		{"Once", "9s would do", func(p *Plan) { p.Once = 11 * time.Second }},
		{"Once", "0 means the default", func(p *Plan) { p.Once = -1 }},
		{"Attempts", "10 would do", func(p *Plan) { p.Attempts = 11 }},
		{"Attempts", "1 would do", func(p *Plan) { p.Attempts = -2 }},
		{"RetryShare", "1 would do", func(p *Plan) { p.RetryShare = 1.5 }},
		{"RetryShare", "0.1 would do", func(p *Plan) { p.RetryShare = -0.1 }},
		{"RetryShare", "would do", func(p *Plan) { p.RetryShare = math.NaN() }},
		{"RetryShare", "1 would do", func(p *Plan) { p.RetryShare = math.Inf(1) }},
		{"Rate", "would do", func(p *Plan) { p.Rate = math.Inf(-1) }},
		{"Rate", "would do", func(p *Plan) { p.Rate = math.NaN() }},
		{"BodyIdle", "0 means the default", func(p *Plan) { p.BodyIdle = -1 }},
		{"Warm", "10 would do", func(p *Plan) { p.Warm = 11 }},
		{"Warm", "1 would do", func(p *Plan) { p.Warm = -1 }},
	} {
		p := valid
		c.change(&p)
		got, err := p.Resolve()
		m, ok := errors.AsType[*Mistake](err)
		if !ok || m.Field != c.field || !strings.Contains(m.Remedy, c.remedy) || got != (Plan{}) {
			t.Errorf("(%+v).Resolve() = %+v, %v, want a mistake in %s whose remedy has %q", p, got, err, c.field, c.remedy)
		}
		if n := len(fields(err)); n != 1 {
			t.Errorf("(%+v).Resolve() = %v: %d mistakes, want 1", p, err, n)
		}
	}
}

func TestResolveReturnsAllMistakesAtOnce(t *testing.T) {
	_, err := Plan{
		InFlight: -3, Connections: -1, Streams: -1, Queue: -2, Wait: -1, Deadline: -1, Attempt: -1, Once: -1, Attempts: -2,
		RetryShare: math.NaN(), BodyIdle: -1, Warm: -1, Rate: -1, Latency: -1,
	}.Resolve()
	got := fields(err)
	want := []string{"Attempt", "Attempts", "BodyIdle", "Connections", "Deadline", "InFlight", "Latency", "Once", "Queue", "Rate", "RetryShare", "Streams", "Wait", "Warm"}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("Resolve of a plan with every field wrong names %v, want %v", got, want)
	}
}

// fields are the names in a joined error, in its order.
func fields(err error) []string {
	var names []string
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if m, ok := errors.AsType[*Mistake](e); ok {
				names = append(names, m.Field)
			}
		}
	}
	return names
}

func TestShareDividesTheWhole(t *testing.T) {
	for _, c := range []struct {
		whole Plan
		n     int
		want  Plan
	}{
		{Plan{InFlight: 200, Rate: 120, Latency: time.Second}, 6, Plan{InFlight: 33, Queue: 33, Rate: 20, Latency: time.Second}},
		{Plan{InFlight: 200, Queue: NoQueue}, 8, Plan{InFlight: 25, Queue: NoQueue}},
		{Plan{InFlight: 700, Streams: 100}, 2, Plan{InFlight: 350, Streams: 100, Connections: 4, Warm: 3}},
		{Plan{InFlight: 6, Queue: 3, Warm: 1}, 6, Plan{InFlight: 1, Queue: 1, Warm: 1}},
	} {
		want, err := c.want.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.whole.Share(c.n); err != nil || got != want {
			t.Errorf("(%v).Share(%d) = %v, %v, want %v", c.whole, c.n, got, err, want)
		}
	}
}

func TestShareRefusesReplicasWithoutAPlace(t *testing.T) {
	for _, n := range []int{-1, 0, 201} {
		if got, err := (Plan{InFlight: 200}).Share(n); err == nil || !strings.Contains(err.Error(), "[1, 200]") {
			t.Errorf("Plan{InFlight: 200}.Share(%d) = %v, %v, want an error that names [1, 200]", n, got, err)
		}
	}
	if got, err := (Plan{}).Share(2); err == nil {
		t.Errorf("Plan{}.Share(2) = %v, want an error", got)
	}
}

func TestConnectionsAreSharedByStreams(t *testing.T) {
	shared := oracle[map[string]int](t, "formulas.json", "http2")
	for name, inFlight := range map[string]int{"L144_100streams": 144, "L24_100": 24, "L288_100": 288} {
		p, err := Plan{InFlight: inFlight, Streams: 100}.Resolve()
		if want := shared[name]; err != nil || p.Connections != want {
			t.Errorf("Connections for %d in flight on 100 streams each = %d, %v, want %d", inFlight, p.Connections, err, want)
		}
	}
}

func TestPlanWritesTimesWithTheirUnit(t *testing.T) {
	p := Plan{InFlight: 24, Queue: NoQueue, Wait: 80 * time.Millisecond, Deadline: 5 * time.Second, Attempts: NoRetry}
	want := `{"inFlight":24,"queue":-1,"attempts":-1,"wait":"80ms","deadline":"5s"}`
	if got, err := json.Marshal(p); err != nil || string(got) != want {
		t.Errorf("Marshal(%v) = %s, %v, want %s", p, got, err, want)
	}
}

func TestPlanRefusesDoubtfulJSON(t *testing.T) {
	for _, in := range []string{
		`{"inFlight":1,"inflght":2}`, // a misspelt field
		`{"inFlight":1,"wait":80}`,   // no unit
		`{"inFlight":1,"wait":"80"}`,
		`{"inFlight":1,"wait":"80 ms"}`,
		`{"inFlight":1.5}`,
		`{"inFlight":"1"}`,
		`{"wait":80,"wait":"80ms"}`,
		`[]`, `1`, `{`, ``,
	} {
		before := Plan{InFlight: 7}
		got := before
		if err := json.Unmarshal([]byte(in), &got); err == nil || got != before {
			t.Errorf("Unmarshal(%s) = %v, %v, want an error and the plan untouched", in, got, err)
		}
	}
}

func TestPlanNamesEveryFieldThatDoesNotDecode(t *testing.T) {
	err := json.Unmarshal([]byte(`{"inFlight":1.5,"inflght":2,"queue":3,"retryShare":"a tenth","wait":80,"deadline":"5"}`), new(Plan))
	want := `capacity: plan: deadline: "5" is no time with its unit; "80ms" would do
capacity: plan: inFlight: 1.5 is no whole number, or too large; 24 would do
capacity: plan: inflght: there is no such field; inFlight, queue or deadline would do
capacity: plan: retryShare: "a tenth" is no number, or too large; 0.1 would do
capacity: plan: wait: 80 is no time with its unit; "80ms" would do`
	if err == nil || err.Error() != want {
		t.Errorf("Unmarshal() = %v, want %s", err, want)
	}
}

func TestPlanPrintsOnOneLine(t *testing.T) {
	p, err := Plan{InFlight: 1, Streams: 1, Attempts: NoRetry, Rate: 20, Latency: 40 * time.Millisecond}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	want := "1 place in flight on 1 connection, queue 1, wait 100ms, deadline 10s, attempt 9s, body idle 5s, 1 attempt, retry share 0.1, 1 warm, for 20/s of 40ms"
	if got := p.String(); got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	if got, want := (Plan{InFlight: 2, Streams: 100, Queue: NoQueue, Attempts: NoRetry}).String(), "2 places in flight of 100 streams, no queue, no retry"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}
