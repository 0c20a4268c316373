package debug

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkReading is what the page costs each Tick with 200 upstreams: the
// reading, and with it the writing of an event that has all of them.
func BenchmarkReading(b *testing.B) {
	counts := map[string]uint64{"2xx": 100, "4xx": 3, "5xx": 2, "timeout": 1}
	h := histogramOf(0, 0.01, 0.2)
	page := Handler(func() (s Snapshot) {
		for i := range 200 {
			s.Upstreams = append(s.Upstreams, Upstream{Name: fmt.Sprintf("upstream-%03d", i), Flow: Flow{
				Places: 24, InFlight: 3, Required: 4, Outcomes: counts, Refused: counts, QueueWait: h, Duration: h,
			}})
		}
		return s
	})
	now := time.Now()
	b.Run("page", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			now = now.Add(Tick)
			page.current(now)
		}
	})
	b.Run("event", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			now = now.Add(Tick)
			s := stream{page: page, sent: make(map[string]sent)}
			if n := len(s.event(page.current(now)).Changed); n != 200 {
				b.Fatalf("event() has %d subjects, want 200", n)
			}
		}
	})
}
