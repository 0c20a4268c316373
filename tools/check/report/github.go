package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// GitHub writes a report as workflow commands, which mark the lines of a change.
func GitHub(out io.Writer, r *check.Report) error {
	var b strings.Builder
	for _, p := range r.Broken {
		fmt.Fprintf(&b, "::error %stitle=unreadable::%s\n", place(p.Ref), message(plain.Lines(p.Text)))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", command(f.Severity), place(f.Ref), property(f.Rule+" "+f.Title), message(plain.Text(f.Subject+": "+f.Evidence)+"\nwould do: "+plain.Text(f.Remedy)))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "::notice title=offtake check::%s\n", message(plain.Text(note)))
	}
	fmt.Fprintf(&b, "%s\n", summary(r))
	_, err := io.WriteString(out, b.String())
	return err
}

// place is the property of a command that marks a line; what stands in standard
// input has none to mark.
func place(at manifest.Ref) string {
	if at.File == "" || at.File == "-" {
		return ""
	}
	return fmt.Sprintf("file=%s,line=%d,", property(at.File), max(at.Line, 1))
}

func command(s check.Severity) string {
	if s == check.Info {
		return "notice"
	}
	return s.String()
}

// message and property escape what ends a workflow command.
func message(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(s)
}
