package capacity

import (
	"testing"
	"time"
)

func BenchmarkErlangC100000(b *testing.B) {
	for b.Loop() {
		ErlangC(100_000, 99_500)
	}
}

func BenchmarkPlacesFor100000(b *testing.B) {
	for b.Loop() {
		if _, err := PlacesFor(99_500, 0.05); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDemandPlan(b *testing.B) {
	d := Demand{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 1.3, Deadline: 5 * time.Second}
	for b.Loop() {
		if _, err := d.Plan(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	p := Plan{InFlight: 33}
	for b.Loop() {
		if _, err := p.Resolve(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDialChance(b *testing.B) {
	for b.Loop() {
		DialChance(1000, 1000)
	}
}
