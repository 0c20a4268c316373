package plain

import "testing"

func TestWhatControlsATerminalBecomesSpace(t *testing.T) {
	for _, c := range []struct{ text, line, lines string }{
		{"card-processor → 60 %", "card-processor → 60 %", "card-processor → 60 %"},
		{"a\x1b[2Jb", "a [2Jb", "a [2Jb"},
		{"a\n::error::b", "a ::error::b", "a\n::error::b"},
		{"a\tb\r\u009bc\u202ed\x7f", "a b  c d ", "a b  c d "},
		{"", "", ""},
	} {
		if got := Text(c.text); got != c.line {
			t.Errorf("Text(%q) = %q, want %q", c.text, got, c.line)
		}
		if got := Lines(c.text); got != c.lines {
			t.Errorf("Lines(%q) = %q, want %q", c.text, got, c.lines)
		}
	}
}
