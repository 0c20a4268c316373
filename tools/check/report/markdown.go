package report

import (
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// Markdown writes a report as a table, for a comment on a change.
func Markdown(out io.Writer, r *check.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**offtake check**: %s\n", summary(r))
	if len(r.Findings)+len(r.Broken) > 0 {
		b.WriteString("\n| | rule | about | evidence | would do |\n|---|---|---|---|---|\n")
	}
	for _, p := range r.Broken {
		fmt.Fprintf(&b, "| error | unreadable | %s | %s | |\n", cell(p.Ref.String()), cell(p.Text))
	}
	for _, f := range r.Findings {
		about := f.Subject
		if at := f.Ref.String(); at != "" {
			about += " (" + at + ")"
		}
		fmt.Fprintf(&b, "| %s | **%s** %s | %s | %s | %s |\n", f.Severity, f.Rule, cell(f.Title), cell(about), cell(f.Evidence), cell(f.Remedy))
	}
	for _, f := range r.Findings {
		if f.Detail != "" {
			fmt.Fprintf(&b, "\n<details><summary>%s %s</summary>\n\n```\n%s```\n</details>\n", f.Rule, html.EscapeString(plain.Text(f.Subject)), plain.Lines(f.Detail))
		}
	}
	for i, note := range r.Notes {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "- %s\n", cell(note))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// cell keeps text inside one cell of a table, and what looks like markup in it a
// text.
func cell(s string) string {
	return strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "[", `\[`, "<", "&lt;", "&", "&amp;", "@", "&#64;").Replace(plain.Text(s))
}
