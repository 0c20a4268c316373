package simreport

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
)

//go:embed page
var page embed.FS

// view is what the template sees.
type view struct {
	Title   string
	Style   template.CSS
	Script  template.JS
	Runs    []runView
	Figures []figureView
	Changes []change
	Pairs   []pair
	Sweep   *sweepView
}

type runView struct {
	Name, About, Verdict string
	How                  string
	Moments              []momentView
	Settings             []settingView
}

type settingView struct{ Key, Value string }

type momentView struct {
	Number     int
	When, Text string
	Effect     bool
}

type figureView struct {
	Name   string
	Values []valueView
}

type valueView struct{ Mean, Within string }

// WriteHTML writes the report as one page that loads nothing.
func (r *Report) WriteHTML(w io.Writer) error {
	style, err := page.ReadFile("page/report.css")
	if err != nil {
		return err
	}
	script, err := page.ReadFile("page/report.js")
	if err != nil {
		return err
	}
	t, err := template.New("report.html").Funcs(template.FuncMap{"data": data}).ParseFS(page, "page/report.html")
	if err != nil {
		return err
	}
	v := view{Title: r.Played[0].File.Name, Style: template.CSS(style), Script: template.JS(script), Pairs: pairs(r.Played)}
	for _, p := range r.Played {
		v.Runs = append(v.Runs, p.view())
	}
	for _, f := range shown(r.Played) {
		fv := figureView{Name: f.name}
		for _, p := range r.Played {
			mean, within := f.spread(p)
			fv.Values = append(fv.Values, valueView{mean, within})
		}
		v.Figures = append(v.Figures, fv)
	}
	if len(r.Played) == 2 {
		v.Changes = changes(r.Played[0].File, r.Played[1].File)
	}
	if r.Sweep != nil {
		v.Sweep = r.Sweep.view(r.Played[0].File)
	}
	return t.Execute(w, v)
}

func (p *Played) view() runView {
	first := p.Results[0]
	events := int64(0)
	for _, r := range p.Results {
		events += r.Events
	}
	v := runView{
		Name: p.File.Name, About: strings.TrimSpace(p.File.About), Verdict: verdict(p),
		How: fmt.Sprintf("%d seeds, each %s after %s to settle, %s events in all; charts and moments are of the first seed.",
			len(p.Results), clock(first.Duration), clock(first.Settle), short(float64(events))),
	}
	if len(p.Results) == 1 {
		v.How = fmt.Sprintf("One seed, %s after %s to settle, %s events.", clock(first.Duration), clock(first.Settle), short(float64(events)))
	}
	for i, m := range first.Moments {
		v.Moments = append(v.Moments, momentView{i + 1, clock(m.At), m.Text, m.Effect})
	}
	for _, s := range settings(p.File) {
		v.Settings = append(v.Settings, settingView{s.key, s.value})
	}
	return v
}

// data is what the script shows at the cursor, with four digits.
func data(c chart) (string, error) {
	type lineData struct {
		Name   string        `json:"name"`
		Values []json.Number `json:"values"`
	}
	d := struct {
		Step  float64    `json:"step"`
		Unit  string     `json:"unit"`
		Lines []lineData `json:"lines"`
	}{Step: c.Step, Unit: c.Unit}
	for _, l := range c.Lines {
		values := make([]json.Number, len(l.Values))
		for i, v := range l.Values {
			values[i] = json.Number(strconv.FormatFloat(v, 'g', 4, 64))
		}
		d.Lines = append(d.Lines, lineData{l.Name, values})
	}
	b, err := json.Marshal(d)
	return string(b), err
}
