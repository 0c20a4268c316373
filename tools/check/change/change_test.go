package change

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/capacity/contract"
)

const gateway = `service: payment-gateway
replicas: {min: 6}
callers: {checkout: {rate: 120/s, deadline: 8s}}
upstreams:
  card-processor:
    target: https://processor.example
    rate: 120/s
    latency: 300ms
    degraded: 1200ms
    client: {maxConns: 50, maxIdle: 50, timeout: 5s}
`

func parse(t *testing.T, text string) *contract.Contract {
	t.Helper()
	c, err := contract.Parse("f", []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACutPoolSaysWhatCanNotBeCarried(t *testing.T) {
	d := Compare(parse(t, gateway), parse(t, strings.Replace(gateway, "maxConns: 50", "maxConns: 10", 1)))
	if len(d.Changes) != 1 || !d.Capacity() {
		t.Fatalf("Changes = %+v, want one capacity change", d.Changes)
	}
	if c := d.Changes[0]; c.Path != "upstreams.card-processor.client.maxConns" || c.Old != "50" || c.New != "10" || !slices.Equal(c.Alone, d.Effects) {
		t.Errorf("change = %+v, want 50 to 10 with the whole effect %+v", c, d.Effects)
	}
	if len(d.Effects) != 1 || !d.Effects[0].Worse {
		t.Fatalf("Effects = %+v, want one that is worse", d.Effects)
	}
	if got, want := d.Effects[0].New.AtDegraded(), "144 in flight on 60 places: 58.33% cannot be carried"; got != want {
		t.Errorf("AtDegraded() = %q, want %q", got, want)
	}
	if got, want := d.Effects[0].Old.AtDegraded(), "144 in flight on 300 places: 48% taken"; got != want {
		t.Errorf("AtDegraded() before = %q, want %q", got, want)
	}
}

func TestOnlySizesAreCapacityChanges(t *testing.T) {
	for _, c := range []struct {
		from, to string
		capacity bool
	}{
		{"rate: 120/s\n", "rate: 240/s\n", true},
		{"min: 6", "min: 4", true},
		{"deadline: 8s", "deadline: 4s", true},
		{"latency: 300ms", "p50: 200ms\n    p99: 900ms", true},
		{"target: https://processor.example", "target: https://other.example", false},
		{"replicas: {min: 6}", "replicas: {min: 6}\nmesh: {zones: 3}", false},
	} {
		d := Compare(parse(t, gateway), parse(t, strings.Replace(gateway, c.from, c.to, 1)))
		if len(d.Changes) == 0 || d.Capacity() != c.capacity {
			t.Errorf("%q to %q: %+v, want capacity %v", c.from, c.to, d.Changes, c.capacity)
		}
	}
}

func TestAnEqualContractHasNoChange(t *testing.T) {
	if d := Compare(parse(t, gateway), parse(t, gateway+"# a comment\n")); len(d.Changes)+len(d.Effects) != 0 {
		t.Errorf("Compare of equal contracts = %+v, want nothing", d)
	}
}

func TestAnUpstreamThatComesOrGoes(t *testing.T) {
	more := gateway + "  fraud-check: {target: 'http://fraud-check', rate: 10/s, latency: 40ms}\n"
	d := Compare(parse(t, gateway), parse(t, more))
	if len(d.Effects) != 1 || d.Effects[0].Upstream != "fraud-check" || !d.Capacity() {
		t.Errorf("Compare with a new upstream = %+v, want its effect", d)
	}
	if d := Compare(parse(t, more), parse(t, gateway)); len(d.Effects) != 1 {
		t.Errorf("Compare without an upstream = %+v, want its effect", d)
	}
}

func TestEachChangeSaysWhatItDoesAlone(t *testing.T) {
	after := strings.NewReplacer("maxConns: 50", "maxConns: 10", "min: 6", "min: 30", "degraded: 1200ms", "degraded: 600ms").Replace(gateway)
	d := Compare(parse(t, gateway), parse(t, after))
	places := map[string]int{}
	for _, c := range d.Changes {
		for _, e := range c.Alone {
			places[c.Path] = e.New.Places
		}
	}
	want := map[string]int{"replicas.min": 1500, "upstreams.card-processor.client.maxConns": 60, "upstreams.card-processor.degraded": 300}
	if !maps.Equal(places, want) {
		t.Errorf("places of each change alone = %v, want %v", places, want)
	}
	if d.Effects[0].New.Places != 300 || d.Effects[0].Worse {
		t.Errorf("all together = %+v, want 300 places, and nothing worse", d.Effects[0])
	}
}

func TestTheContractsThatAreComparedStayAsTheyAre(t *testing.T) {
	before, after := parse(t, gateway), parse(t, strings.Replace(gateway, "maxConns: 50", "maxConns: 10", 1))
	Compare(before, after)
	if got := before.Upstreams["card-processor"].Client.MaxConns; got != 50 {
		t.Errorf("after Compare the old contract has %d connections, want 50", got)
	}
}

// effectOf returns what an upstream, or the door, does after a change of one text.
func effectOf(t *testing.T, contractText, from, to, name string) Effect {
	t.Helper()
	d := Compare(parse(t, contractText), parse(t, strings.Replace(contractText, from, to, 1)))
	i := slices.IndexFunc(d.Effects, func(e Effect) bool { return e.Upstream == name })
	if i < 0 {
		t.Fatalf("%q to %q: effects %+v, want one on %s", from, to, d.Effects, name)
	}
	return d.Effects[i]
}

func TestTheDoorIsAPoolToo(t *testing.T) {
	doored := strings.Replace(gateway, "upstreams:", "door: {inFlight: 64, latency: 400ms}\nupstreams:", 1)
	for _, c := range []struct{ from, to, want string }{
		{"inFlight: 64", "inFlight: 7", "48 in flight on 42 places: 12.50% cannot be carried"},
		{"checkout: {rate: 120/s", "checkout: {rate: 1200/s", "480 in flight on 384 places: 20.00% cannot be carried"},
		{"latency: 400ms", "latency: 4s", "480 in flight on 384 places: 20.00% cannot be carried"},
		{"min: 6", "min: 1", "48 in flight on 64 places: 1.78% of calls wait"},
	} {
		if e := effectOf(t, doored, c.from, c.to, Door); e.New.AtPeak() != c.want || !e.Worse {
			t.Errorf("%q to %q: %q, worse %v, want %q", c.from, c.to, e.New.AtPeak(), e.Worse, c.want)
		}
	}
	d := Compare(parse(t, doored), parse(t, gateway))
	if e := d.Effects[0]; e.Upstream != Door || e.New.AtPeak() != "not there" || e.Worse {
		t.Errorf("without the door: %+v, want that it is not there", e)
	}
}

func TestATimeoutBelowTheLatencyIsWorse(t *testing.T) {
	e := effectOf(t, gateway, "timeout: 5s", "timeout: 500ms", "card-processor")
	if want := "144 in flight on 300 places: 48% taken; a mean of 1.2 s is longer than the 500ms that a call may take"; e.New.AtDegraded() != want || !e.Worse {
		t.Errorf("AtDegraded() = %q, worse %v, want %q", e.New.AtDegraded(), e.Worse, want)
	}
	if was, is := e.Old.Bounds(), e.New.Bounds(); was != "1 attempt within 5s" || is != "1 attempt within 500ms" {
		t.Errorf("Bounds() = %q, was %q", is, was)
	}
}

func TestHTTP2HasNoLimitOnConnections(t *testing.T) {
	e := effectOf(t, gateway, "rate: 120/s\n", "rate: 120/s\n    protocol: http2\n", "card-processor")
	if want := "36 in flight, and no limit"; e.New.AtPeak() != want {
		t.Errorf("AtPeak() = %q, want %q: MaxConnsPerHost does not bound it", e.New.AtPeak(), want)
	}
}

func TestNoLimitCarriesAll(t *testing.T) {
	e := effectOf(t, gateway, "maxConns: 50, ", "", "card-processor")
	if want := "144 in flight, and no limit"; e.New.AtDegraded() != want || e.Worse {
		t.Errorf("AtDegraded() = %q, worse %v, want %q", e.New.AtDegraded(), e.Worse, want)
	}
}

func TestFewIdleConnectionsAreDialedAnew(t *testing.T) {
	e := effectOf(t, gateway, ", maxIdle: 50", "", "card-processor")
	if want := "36 in flight on 300 places: fewer than 0.01% of calls wait; 29.7% dial a new connection"; e.New.AtPeak() != want {
		t.Errorf("AtPeak() = %q, want %q", e.New.AtPeak(), want)
	}
}
