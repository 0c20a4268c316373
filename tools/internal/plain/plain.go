// Package plain makes text out of files fit for a terminal. Names in a manifest, a
// contract or a scenario are anyone's: an escape code in one could hide what follows
// it, and a line break could begin a workflow command in the log of a build.
package plain

import (
	"strings"
	"unicode"
)

// Text keeps a text on its line: what controls a terminal, or the direction of what
// is written on it, becomes a space.
func Text(s string) string { return strings.Map(spaced, s) }

// Lines does the same and leaves line breaks where they are.
func Lines(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return spaced(r)
	}, s)
}

func spaced(r rune) rune {
	if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
		return ' '
	}
	return r
}
