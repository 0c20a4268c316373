package simreport

import (
	"fmt"
	"io"
	"os"
	"strings"
)

const barWidth = 40

// progressOn returns a function that draws a bar on w if w is a terminal, and one
// that takes the bar away. The first is called by one goroutine at a time.
func progressOn(w io.Writer, what string) (draw func(done float64), wipe func()) {
	f, ok := w.(*os.File)
	if !ok {
		return nil, func() {}
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil, func() {}
	}
	return bar(w, what)
}

// bar draws a bar that is what percent of it say, and again only when that changes.
func bar(w io.Writer, what string) (draw func(done float64), wipe func()) {
	last := -1
	draw = func(done float64) {
		percent := int(100 * done)
		if percent == last {
			return
		}
		last = percent
		full := barWidth * percent / 100
		fmt.Fprintf(w, "\r%s %s%s %3d %%", what, strings.Repeat("█", full), strings.Repeat("░", barWidth-full), percent)
	}
	return draw, func() { fmt.Fprint(w, "\r\x1b[K") }
}
