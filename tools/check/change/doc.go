// Package change says what a change of a contract does: which of its lines change
// how much can be carried, and what that means at the peak and in the degraded
// case, as the formulas of package capacity predict it.
package change
