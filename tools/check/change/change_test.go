package change

import (
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
	want := []Change{{Path: "upstreams.card-processor.client.maxConns", Old: "50", New: "10", Capacity: true}}
	if !slices.Equal(d.Changes, want) || !d.Capacity() {
		t.Errorf("Changes = %+v, want %+v", d.Changes, want)
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
