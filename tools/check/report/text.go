package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// A paint colours text; without colour it leaves it alone.
type paint bool

func (p paint) in(code, s string) string {
	if !p {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) severity(s check.Severity) string {
	code := map[check.Severity]string{check.Error: "1;31", check.Warning: "1;33", check.Info: "1;36"}[s]
	return p.in(code, s.String())
}

// barWidth is how many columns a full bar has.
const barWidth = 40

// Text writes a report for a person to read, with all there is to say.
func Text(out io.Writer, r *check.Report, colour bool) error {
	p := paint(colour)
	var b strings.Builder
	for _, broken := range r.Broken {
		fmt.Fprintf(&b, "%s %s: %s\n\n", p.in("1;31", "unreadable"), plain.Text(broken.Ref.String()), plain.Text(broken.Text))
	}
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s %s\n", p.severity(f.Severity), p.in("1", f.Rule), f.Title)
		at := plain.Text(f.Ref.String())
		if at != "" {
			at = "  " + p.in("2", at)
		}
		fmt.Fprintf(&b, "  %s%s\n", plain.Text(f.Subject), at)
		fmt.Fprintf(&b, "  %s\n", plain.Text(f.Evidence))
		bar(&b, p, f.Scale)
		fmt.Fprintf(&b, "  %s %s\n", p.in("32", "would do:"), plain.Text(f.Remedy))
		for line := range strings.Lines(plain.Lines(f.Detail)) {
			fmt.Fprintf(&b, "    %s", line)
		}
		if rule, ok := check.RuleOf(f.Rule); ok {
			fmt.Fprintf(&b, "  %s\n", p.in("2", "source: "+rule.Source))
		}
		b.WriteString("\n")
	}
	b.WriteString(summary(r))
	b.WriteString("\n")
	for _, note := range r.Notes {
		b.WriteString(plain.Text(note) + "\n")
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// bar draws what there is against what is needed, both to one scale.
func bar(b *strings.Builder, p paint, s check.Scale) {
	if s.Unit == "" || s.Need <= s.Have || s.Have < 0 {
		return
	}
	have := int(float64(barWidth)*s.Have/s.Need + 0.5)
	fmt.Fprintf(b, "  %s%s %.4g of %.4g %s\n", p.in("32", strings.Repeat("█", have)), p.in("31", strings.Repeat("░", barWidth-have)), s.Have, s.Need, s.Unit)
}

func summary(r *check.Report) string {
	count := map[check.Severity]int{}
	for _, f := range r.Findings {
		count[f.Severity]++
	}
	s := fmt.Sprintf("%s, %s, %s; %s, %d without the numbers they need",
		plural(count[check.Error], "error"), plural(count[check.Warning], "warning"), plural(count[check.Info], "note"),
		holds(len(r.Held)), len(r.Unknown))
	if r.Ignored > 0 {
		s += fmt.Sprintf("; %d ignored", r.Ignored)
	}
	return s
}

func holds(n int) string {
	if n == 1 {
		return "1 rule holds"
	}
	return fmt.Sprintf("%d rules hold", n)
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
