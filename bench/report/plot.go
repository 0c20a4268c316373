package report

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// plot is a dot for each figure, a row for each stack, on one axis. Dots, and not
// bars: a bar has no beginning on a log axis.
type plot struct {
	title string // of the axis, with its unit
	log   bool
	ticks func(float64) string // how a number reads at the axis
	rows  []plotRow
}

type plotRow struct {
	name  string
	marks []plotMark
	label string // beside the last mark
}

// plotMark is a figure. Style is 0 for the main one, 1 and 2 for lesser ones; Low
// and High, if not both 0, are the ends of an error bar.
type plotMark struct {
	value, low, high float64
	style            int
	beyond           bool // at the far end, and hollow: it did not come while it was watched
}

const (
	plotLeft, plotRight = 200.0, 500.0
	rowHeight           = 22
)

func (p plot) SVG() template.HTML {
	low, high := p.bounds()
	if low > high {
		return "" // nothing was measured
	}
	at := p.scale(low, high)
	height := rowHeight*len(p.rows) + 44
	bottom := rowHeight*len(p.rows) + 6
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 720 %d" role="img" aria-label="%s">`, height, template.HTMLEscapeString(p.title))
	for _, tick := range p.marksOfAxis(low, high) {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="2" y2="%d"/><text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`,
			at(tick), at(tick), bottom, at(tick), bottom+14, template.HTMLEscapeString(p.ticks(tick)))
	}
	fmt.Fprintf(&b, `<text class="tick" x="%.1f" y="%d" text-anchor="middle">%s</text>`, (plotLeft+plotRight)/2, bottom+32, template.HTMLEscapeString(p.title))
	for i, row := range p.rows {
		p.row(&b, row, float64(rowHeight*i+14), at)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}

func (p plot) row(b *strings.Builder, row plotRow, y float64, at func(float64) float64) {
	class := ""
	if strings.HasPrefix(row.name, ours) {
		class = " ours"
	}
	fmt.Fprintf(b, `<text class="name%s" x="%.0f" y="%.0f" text-anchor="end">%s</text>`, class, plotLeft-12, y+4, template.HTMLEscapeString(row.name))
	first, last := plotRight, plotLeft
	for _, m := range row.marks {
		first, last = min(first, at(m.value)), max(last, at(m.value), at(m.high))
	}
	if len(row.marks) > 1 {
		fmt.Fprintf(b, `<line class="span%s" x1="%.1f" x2="%.1f" y1="%.0f" y2="%.0f"/>`, class, first, last, y, y)
	}
	for _, m := range row.marks {
		if m.low != 0 || m.high != 0 {
			fmt.Fprintf(b, `<path class="error%s" d="M%.1f %.0fv8m0 -4H%.1fm0 -4v8"/>`, class, at(m.low), y-4, at(m.high))
		}
		style := m.style
		if m.beyond {
			style = 3
		}
		fmt.Fprintf(b, `<circle class="dot s%d%s" cx="%.1f" cy="%.0f" r="4.5"/>`, style, class, at(m.value), y)
	}
	fmt.Fprintf(b, `<text class="label%s" x="%.1f" y="%.0f">%s</text>`, class, last+10, y+4, template.HTMLEscapeString(row.label))
}

// bounds are the ends of the axis; the low one is above the high one if there is
// no figure.
func (p plot) bounds() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, row := range p.rows {
		for _, m := range row.marks {
			for _, v := range []float64{m.value, m.low, m.high} {
				if v > 0 {
					low = min(low, v)
				}
				high = max(high, v)
			}
		}
	}
	if low > high {
		return low, high
	}
	if p.log {
		return low / 1.15, max(high*1.15, low*2)
	}
	return 0, max(high*1.05, 1e-9)
}

// scale puts a value at its place; on a log axis 0 is at its beginning.
func (p plot) scale(low, high float64) func(float64) float64 {
	if !p.log {
		return func(v float64) float64 { return plotLeft + (plotRight-plotLeft)*max(v, 0)/high }
	}
	return func(v float64) float64 {
		return plotLeft + (plotRight-plotLeft)*math.Log(max(v, low)/low)/math.Log(high/low)
	}
}

// marksOfAxis are round numbers: 1, 2, 5 and their like, or the powers of ten
// alone where these are many.
func (p plot) marksOfAxis(low, high float64) []float64 {
	if !p.log {
		step := math.Pow(10, math.Floor(math.Log10(high)))
		for _, finer := range []float64{2, 5, 10} {
			if high/step < 4 {
				step = math.Pow(10, math.Floor(math.Log10(high))) / finer
			}
		}
		var ticks []float64
		for v := 0.0; v <= high; v += step {
			ticks = append(ticks, v)
		}
		return ticks
	}
	digits := []float64{1, 2, 5}
	if high/low > 300 {
		digits = []float64{1}
	}
	var ticks []float64
	for decade := math.Pow(10, math.Floor(math.Log10(low))); decade <= high; decade *= 10 {
		for _, d := range digits {
			if v := d * decade; v >= low && v <= high {
				ticks = append(ticks, v)
			}
		}
	}
	return ticks
}

func plain(v float64) string { return fmt.Sprintf("%.4g", v) }
