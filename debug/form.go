package debug

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"
)

// serveJSON answers with everything, the history included.
func (p *Page) serveJSON(w http.ResponseWriter) {
	d := *p.current(time.Now())
	subjects := make([]*subject, len(d.Subjects))
	for i, s := range d.Subjects {
		subjects[i] = p.withHistory(s, 0)
	}
	d.Subjects = subjects
	content, err := json.Marshal(d)
	if err != nil {
		http.Error(w, "debug: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(content, '\n')) // who asked may have left
}

// serveText answers with what is wrong in full, and a line for each of the rest.
func (p *Page) serveText(w http.ResponseWriter) {
	d := p.current(time.Now())
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "%s\n\n", d.Headline)
	for _, s := range d.Subjects {
		if s.Level >= warn {
			s.writeFull(w)
		}
	}
	rows := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range d.Subjects {
		if s.Level < warn {
			fmt.Fprintf(rows, "%s\t%s\t%s\t%s\n", s.Kind, s.Name, s.Findings[0].Word, s.Findings[0].Text)
		}
	}
	_ = rows.Flush()
}

func (s *subject) writeFull(w http.ResponseWriter) {
	fmt.Fprintln(w, strings.TrimSpace(strings.Join([]string{s.Kind, s.Name, s.Target}, " ")))
	for _, f := range s.Findings {
		fmt.Fprintf(w, "  %s: %s: %s\n", f.Level, f.Word, f.Text)
		if f.Detail != "" {
			fmt.Fprintf(w, "    %s\n", f.Detail)
		}
	}
	rows := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range s.Facts {
		if f.Plan == "" {
			f.Plan = "–"
		}
		fmt.Fprintf(rows, "    %s\tplan %s\tnow %s\n", f.Label, f.Plan, f.Now)
	}
	_ = rows.Flush()
	for _, e := range s.Errors {
		fmt.Fprintf(w, "    last %s error, %s: %s\n", e.Outcome, e.Ago, e.Text)
	}
	fmt.Fprintln(w)
}
