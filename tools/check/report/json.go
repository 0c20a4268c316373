package report

import (
	"encoding/json"
	"io"

	"github.com/offtake-go/offtake/tools/check"
)

type jsonReport struct {
	Findings   []jsonFinding `json:"findings"`
	Unreadable []jsonBroken  `json:"unreadable,omitempty"`
	Held       []string      `json:"held"`
	Unknown    []string      `json:"unknown"`
	Ignored    int           `json:"ignored"`
	Notes      []string      `json:"notes"`
}

type jsonFinding struct {
	Rule     string         `json:"rule"`
	Title    string         `json:"title"`
	Severity check.Severity `json:"severity"`
	Subject  string         `json:"subject"`
	File     string         `json:"file,omitempty"`
	Line     int            `json:"line,omitempty"`
	Evidence string         `json:"evidence"`
	Remedy   string         `json:"remedy"`
	Detail   string         `json:"detail,omitempty"`
}

type jsonBroken struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// JSON writes a report as one object.
func JSON(out io.Writer, r *check.Report) error {
	j := jsonReport{Findings: []jsonFinding{}, Held: orEmpty(r.Held), Unknown: orEmpty(r.Unknown), Ignored: r.Ignored, Notes: orEmpty(r.Notes)}
	for _, f := range r.Findings {
		j.Findings = append(j.Findings, jsonFinding{f.Rule, f.Title, f.Severity, f.Subject, f.Ref.File, f.Ref.Line, f.Evidence, f.Remedy, f.Detail})
	}
	for _, p := range r.Broken {
		j.Unreadable = append(j.Unreadable, jsonBroken{p.File, p.Line, p.Text})
	}
	return encode(out, j)
}

func encode(out io.Writer, v any) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// orEmpty makes an empty list print as one.
func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}
