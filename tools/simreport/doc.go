// Package simreport shows what simulations of a scenario brought about: in a
// terminal, as JSON, and as one HTML file that needs nothing else.
//
// [Run] is the command offtake simulate. [Diff] is what offtake diff adds with
// --simulate. Every number they print comes from the runs.
package simreport
