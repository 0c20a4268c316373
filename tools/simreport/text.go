package simreport

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// sparkWidth is how many characters a sparkline has: it fits beside its name into
// 80 columns.
const sparkWidth = 48

// sparks are the series that the terminal shows, if they are not flat at 0.
func sparks() []string {
	return []string{
		simulate.SeriesCalls, simulate.SeriesFailed, simulate.SeriesPerCall, simulate.SeriesLatency, simulate.SeriesInFlight,
		simulate.SeriesQueue, simulate.SeriesEjected, simulate.SeriesPanicking, simulate.SeriesRestarts,
	}
}

// writeText writes the terminal's summary of one scenario or of two side by side.
func writeText(w io.Writer, played []*Played) {
	for i, p := range played {
		if i > 0 {
			fmt.Fprintln(w)
		}
		writeStory(w, p)
	}
	fmt.Fprintln(w)
	writeFigures(w, played)
	if len(played) == 2 {
		writeChanges(w, changes(played[0].File, played[1].File))
	}
}

func writeStory(w io.Writer, p *Played) {
	first := p.Results[0]
	name := plain.Text(p.File.Name)
	fmt.Fprintf(w, "%s\n%s\n\n", name, strings.Repeat("─", utf8.RuneCountInString(name)))
	if p.File.About != "" {
		fmt.Fprintf(w, "%s\n\n", wrap(strings.TrimSpace(p.File.About), 78))
	}
	fmt.Fprintf(w, "%s\n\n", wrap(verdict(p), 78))
	for _, name := range sparks() {
		s := first.Find(name)
		if top := peak(s.Values); top > 0 {
			fmt.Fprintf(w, "  %-24s %s max %s\n", name, sparkline(s.Values, sparkWidth), withUnit(top, s.Unit))
		}
	}
	fmt.Fprintln(w)
	for _, m := range first.Moments {
		arrow := " "
		if m.Effect {
			arrow = "→"
		}
		fmt.Fprintf(w, "  %8s %s %s\n", clock(m.At), arrow, m.Text)
	}
}

func writeFigures(w io.Writer, played []*Played) {
	rows := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(played) == 2 {
		fmt.Fprintln(rows, "  \tthe first\tthe second")
	}
	for _, f := range shown(played) {
		fmt.Fprintf(rows, "  %s", f.name)
		for _, p := range played {
			fmt.Fprintf(rows, "\t%s", f.text(p))
		}
		fmt.Fprintln(rows)
	}
	_ = rows.Flush() // what w says is said when the whole is written
	n := len(played[0].Results)
	if n > 1 {
		fmt.Fprintf(w, "\n  Mean of %d seeds, with the least and the most; series and moments are of the first.\n", n)
	}
}

func writeChanges(w io.Writer, all []change) {
	fmt.Fprintf(w, "\nWhat differs\n\n")
	for _, c := range all {
		fmt.Fprintf(w, "  %-40s %s → %s\n", c.Key, c.Before, c.After)
	}
}

func peak(values []float64) float64 {
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	return top
}

func withUnit(x float64, unit string) string {
	switch unit {
	case "1/s":
		return perSecond(x)
	case "s":
		return seconds(x)
	}
	return short(x)
}

// sparkline draws values in width characters; each shows the highest of its part,
// so that a spike is not averaged away.
func sparkline(values []float64, width int) string {
	const bars = " ▁▂▃▄▅▆▇█"
	levels := []rune(bars)
	top := peak(values)
	var b strings.Builder
	for i := range width {
		v := peak(values[i*len(values)/width : (i+1)*len(values)/width])
		level := 0
		if v > 0 {
			level = 1 + int(v/top*float64(len(levels)-2)+0.5)
		}
		b.WriteRune(levels[min(level, len(levels)-1)])
	}
	return b.String()
}

// wrap breaks text into lines of at most width characters.
func wrap(text string, width int) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}
