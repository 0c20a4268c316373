package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// GitHub writes a report as workflow commands, which mark the lines of a change.
func GitHub(out io.Writer, r *check.Report) error {
	var b strings.Builder
	for _, p := range r.Broken {
		fmt.Fprintf(&b, "::error file=%s,line=%d,title=unreadable::%s\n", property(p.File), max(p.Line, 1), message(plain.Lines(p.Text)))
	}
	for _, f := range r.Findings {
		at := ""
		if f.Ref.File != "" && f.Ref.File != "-" {
			at = fmt.Sprintf("file=%s,line=%d,", property(f.Ref.File), max(f.Ref.Line, 1))
		}
		fmt.Fprintf(&b, "::%s %stitle=%s::%s\n", command(f.Severity), at, property(f.Rule+" "+f.Title), message(plain.Text(f.Subject+": "+f.Evidence)+"\nwould do: "+plain.Text(f.Remedy)))
	}
	fmt.Fprintf(&b, "%s\n", summary(r))
	_, err := io.WriteString(out, b.String())
	return err
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
