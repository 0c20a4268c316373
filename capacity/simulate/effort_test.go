//go:build !race

package simulate

// effort scales the length of simulated time in tests against other models, and
// with its root what they tolerate.
const effort = 1.0
