package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/bench/measure"
)

//go:embed page.html
var page string

// HTML is the report as one page that needs nothing else.
func (r *Report) HTML() ([]byte, error) {
	t, err := template.New("page").Parse(page)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Run":      r.Run(),
		"Command":  r.Command,
		"Targets":  r.targets(),
		"Ranking":  r.ranking(),
		"Figures":  r.figures(),
		"Versions": r.Versions,
	})
	return b.Bytes(), err
}

// goodput is a line for each stack over what was offered, labelled at its end.
func goodput(overloads []measure.Overload) template.HTML {
	lines := map[string][]measure.Overload{}
	var names []string
	var most float64
	for _, o := range overloads {
		if lines[o.Name] == nil {
			names = append(names, o.Name)
		}
		lines[o.Name] = append(lines[o.Name], o)
		most = max(most, o.Offered)
	}
	if most == 0 {
		return ""
	}
	x := func(offered float64) float64 { return 50 + 450*offered/most }
	y := func(share float64) float64 { return 270 - 240*min(1.05, share) }
	var b strings.Builder
	b.WriteString(`<svg viewBox="0 0 720 318" role="img" aria-label="goodput as a share of capacity, by how much is offered">`)
	for _, share := range []float64{0, 0.25, 0.5, 0.75, 1} {
		fmt.Fprintf(&b, `<line class="grid" x1="50" x2="500" y1="%.0f" y2="%.0f"/><text x="44" y="%.0f" text-anchor="end">%.0f %%</text>`, y(share), y(share), y(share)+4, 100*share)
	}
	for _, o := range lines[names[0]] {
		fmt.Fprintf(&b, `<text x="%.0f" y="290" text-anchor="middle">%g×</text>`, x(o.Offered), o.Offered)
	}
	fmt.Fprintf(&b, `<text class="tick" x="275" y="310" text-anchor="middle">offered, as a multiple of what can be carried</text>`)
	var taken []float64
	slices.SortFunc(names, func(a, b string) int {
		return int(math.Copysign(1, lines[b][len(lines[b])-1].Goodput-lines[a][len(lines[a])-1].Goodput))
	})
	for _, name := range names {
		class := "line"
		if name == "offtake" {
			class = "line ours"
		}
		var points []string
		for _, o := range lines[name] {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(o.Offered), y(o.Goodput)))
		}
		last := lines[name][len(lines[name])-1]
		label := y(last.Goodput) + 4
		for _, t := range taken { // labels do not lie on each other
			label = max(label, t+15)
		}
		taken = append(taken, label)
		fmt.Fprintf(&b, `<polyline class="%s" points="%s"/><text class="label%s" x="508" y="%.1f">%s, %.0f %%</text>`,
			class, strings.Join(points, " "), strings.TrimPrefix(class, "line"), label, template.HTMLEscapeString(name), 100*last.Goodput)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String())
}
