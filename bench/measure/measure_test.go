package measure

import (
	"math"
	"testing"
	"time"

	"github.com/offtake-go/offtake/bench/peers"
)

func TestEveryStackAnswersAndIsMeasured(t *testing.T) {
	costs, err := Layer(peers.HTTPStacks(), 1, 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range costs {
		if c.Allocs <= 0 || c.P25 <= 0 {
			t.Errorf("%s = %+v, want a time and allocations", c.Name, c)
		}
	}
	for _, version := range []struct{ secure, http2 bool }{{false, false}, {true, false}, {true, true}} {
		if _, err := Loopback(peers.HTTPStacks(), version.secure, version.http2, 1, 5); err != nil {
			t.Errorf("Loopback(%+v) = %v, want nil", version, err)
		}
	}
}

func TestEveryGRPCStackAndDoorIsMeasured(t *testing.T) {
	if _, err := GRPC(peers.GRPCStacks(), 1, 5); err != nil {
		t.Errorf("GRPC() = %v, want nil", err)
	}
	if _, err := Doors(peers.Doors(), 1, 5); err != nil {
		t.Errorf("Doors() = %v, want nil", err)
	}
}

func TestACostIsComparedWithTheFirst(t *testing.T) {
	var kept [][]byte
	costs, err := Costs([]Op{
		{"one", func(n int) error {
			for range n {
				kept = append(kept[:0], make([]byte, 64))
			}
			return nil
		}},
		{"three", func(n int) error {
			for range n {
				kept = append(kept[:0], make([]byte, 64), make([]byte, 64), make([]byte, 64))
			}
			return nil
		}},
	}, 5, 1000)
	if err != nil {
		t.Fatal(err)
	}
	one, three := costs[0], costs[1]
	if one.Ratio != 1 || one.AllocsOver != 0 || three.Ratio != three.P25/one.P25 || math.Round(three.AllocsOver) != 2 || math.Round(three.Bytes-one.Bytes) < 128 {
		t.Errorf("Costs() = %+v and %+v, want the second compared with the first, and two allocations of 64 B more", one, three)
	}
	if one.Min > one.P25 || one.P25 > one.Median {
		t.Errorf("Costs() = %+v, want Min, P25 and Median to rise", one)
	}
	if least, p25, median := spread([]float64{5, 1, 4, 2, 3}); least != 1 || p25 != 2 || median != 3 {
		t.Errorf("spread(5 1 4 2 3) = %g, %g, %g, want 1, 2, 3", least, p25, median)
	}
}

func TestOfftakeHoldsWhereBareClientsDoNot(t *testing.T) {
	bare, ours := stack(t, "net/http"), stack(t, "offtake")

	b := Bottleneck{Connections: 4, Work: 20 * time.Millisecond, Deadline: 200 * time.Millisecond, During: time.Second}
	of := func(s peers.HTTP) Overload {
		o, err := b.Overloads(s, 2)
		if err != nil {
			t.Fatal(err)
		}
		return o[0]
	}
	if got, than := of(ours), of(bare); got.Goodput <= than.Goodput {
		t.Errorf("goodput at twice the capacity = %.2f, want more than net/http's %.2f", got.Goodput, than.Goodput)
	}

	if d, err := Deaths(ours, 10); err != nil || d.Requests > 2 {
		t.Errorf("a query of death is sent %d times, %v; want 2 at the most", d.Requests, err)
	}
	if d, err := Deaths(bare, 10); err != nil || d.Requests < 5 {
		t.Errorf("net/http sends it %d times, %v; want one for each warm connection, about", d.Requests, err)
	}
	if o, err := Outages(ours, 50); err != nil || o.One > 1.25 || o.Three > 2 {
		t.Errorf("amplification = %+v, %v; want 1.25 at the most in one layer, and 2 in three", o, err)
	}
}

func stack(t *testing.T, name string) peers.HTTP {
	t.Helper()
	for _, s := range peers.HTTPStacks() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no stack %q", name)
	return peers.HTTP{}
}
