// Package moving is the code of docs/moving.md: what a program looked like before,
// and what it looks like on offtake.
package moving
