//go:build race

package simulate

// effort is less under the race detector, which makes the engine a dozen times
// slower and has one goroutine to watch.
const effort = 0.1
