package redisfleet

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRenew is one renewal in a fleet of so many, the way to the store and back
// included; the PING beside it is that way alone.
func BenchmarkRenew(b *testing.B) {
	c := client(b)
	b.Run("ping", func(b *testing.B) {
		for b.Loop() {
			if err := c.Ping(b.Context()).Err(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, members := range []int{1, 24, 300} {
		b.Run(fmt.Sprint(members, " members"), func(b *testing.B) {
			s := scriptFor(c, fmt.Sprint("bench ", members))
			r := request{pool: 10_000, want: 50, lease: time.Hour}
			for i := range members {
				r.member, r.seq = fmt.Sprintf("member%020d", i), 1
				if _, err := s.do(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				r.seq++
				if _, err := s.do(b.Context(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
