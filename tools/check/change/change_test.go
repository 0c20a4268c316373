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
