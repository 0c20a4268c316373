// Package measure takes the figures: what a call costs, and what a client does
// when its upstream is in trouble.
package measure

import (
	"runtime"
	"slices"
	"syscall"
	"time"
)

// Cost is what one operation costs. Times are CPU of the whole process, user and
// system, so that another process that takes the cores away changes nothing but
// the caches.
type Cost struct {
	Name       string  `json:"name"`
	Min        float64 `json:"minNanoseconds"` // of all rounds
	P25        float64 `json:"p25Nanoseconds"`
	Median     float64 `json:"medianNanoseconds"`
	Allocs     float64 `json:"allocs"`
	Bytes      float64 `json:"bytes"`
	Ratio      float64 `json:"ratio"` // of P25 to that of the first operation
	AllocsOver float64 `json:"allocsOverFirst"`
}

// Op is something to measure. Run does it n times.
type Op struct {
	Name string
	Run  func(n int) error
}

// Costs runs all operations in turn, n times each, for a number of rounds. They
// are interleaved so that a noisy minute is noisy for all.
func Costs(ops []Op, rounds, n int) ([]Cost, error) {
	costs := make([]Cost, len(ops))
	times := make([][]float64, len(ops))
	for i, op := range ops {
		costs[i].Name = op.Name
		if err := op.Run(n/10 + 1); err != nil { // warm caches, pools and connections
			return nil, err
		}
	}
	for range rounds {
		for i, op := range ops {
			runtime.GC()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := cpu()
			if err := op.Run(n); err != nil {
				return nil, err
			}
			times[i] = append(times[i], float64(cpu()-start)/float64(n))
			runtime.ReadMemStats(&after)
			allocs := float64(after.Mallocs-before.Mallocs) / float64(n)
			if costs[i].Allocs == 0 || allocs < costs[i].Allocs {
				costs[i].Allocs = allocs
				costs[i].Bytes = float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
			}
		}
	}
	for i := range costs {
		costs[i].Min, costs[i].P25, costs[i].Median = spread(times[i])
		costs[i].Ratio = costs[i].P25 / costs[0].P25
		costs[i].AllocsOver = costs[i].Allocs - costs[0].Allocs
	}
	return costs, nil
}

// spread sorts times, and returns the least, the one that a quarter is below, and the
// one in the middle.
func spread(times []float64) (least, p25, median float64) {
	slices.Sort(times)
	return times[0], times[len(times)/4], times[len(times)/2]
}

// cpu is what the process has used so far.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it takes no argument that could be wrong
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
