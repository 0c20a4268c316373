package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// Bounds of what Brief writes.
const (
	// DefaultWidth is the columns of a line where no terminal says.
	DefaultWidth = 100

	// leastWidth is below which a line holds no finding any more.
	leastWidth = 40

	// inFull is how many findings of one rule are written out. What is behind the
	// first ones is the same mistake elsewhere.
	inFull = 3
)

// Brief writes a report for a person to act on, on as few lines as it takes: two for
// an error, one for all warnings of a rule. Errors come first, and among them those
// of the place that has most. A width of 0 is no terminal: lines are composed for the
// default width, and none is cut off, since what is behind may be a program.
func Brief(out io.Writer, r *check.Report, colour bool, width int) error {
	b := brief{paint: paint(colour), width: max(cmp.Or(width, DefaultWidth), leastWidth), whole: width == 0}
	for _, p := range r.Broken {
		b.wrapped("", indent, "unreadable "+plain.Text(p.Ref.String())+": "+plain.Text(p.Text), "unreadable", "1;31")
	}
	errors, others := bySeverity(r.Findings)
	for _, same := range byRule(errors) {
		b.errors(same)
	}
	for _, same := range byRule(others) {
		b.lesser(same)
	}
	if len(r.Findings)+len(r.Broken) > 0 {
		b.text.WriteString("\n")
	}
	b.closing(r, slices.Concat(errors, others))
	_, err := io.WriteString(out, b.text.String())
	return err
}

// brief is the text so far.
type brief struct {
	paint
	width int
	whole bool // no line is cut off
	text  strings.Builder
}

// closing writes what holds for all findings, which are in the order of the lines
// above, and where to read on.
func (b *brief) closing(r *check.Report, all []check.Finding) {
	b.plainly(summary(r))
	if len(r.Broken) > 0 {
		b.plainly("what does not read is not checked, so findings may be missing: exit code 2")
	}
	for _, note := range r.Notes {
		b.plainly(plain.Text(note))
	}
	var depend []string
	for _, f := range all {
		if f.Depends && !slices.Contains(depend, f.Rule) {
			depend = append(depend, f.Rule)
		}
	}
	if len(depend) > 0 {
		b.plainly("the control plane's version is not known, and decides " + strings.Join(depend, ", ") + "; -mesh-version 1.29 would do")
	}
	if len(all) > 0 {
		b.plainly("offtake check -v shows every finding in full, offtake explain " + all[0].Rule + " what the rule means")
	}
}

// errors writes those of one rule, each with what is wrong and what would do.
func (b *brief) errors(same []check.Finding) {
	for _, f := range same[:min(len(same), inFull)] {
		b.line(f, f.Title+": "+plain.Text(f.Subject))
		b.wrapped(indent, indent, b.repair(f), "→", "32")
	}
	if len(same) > inFull {
		var places []string
		for _, f := range same[inFull:] {
			places = append(places, plain.Text(cmp.Or(f.Ref.String(), f.Subject)))
		}
		more := fmt.Sprintf("and %d more of %s: %s", len(places), same[0].Rule, strings.Join(places, ", "))
		b.text.WriteString(indent + b.clip(more, b.width-len(indent)) + "\n")
	}
}

// lesser writes the warnings or notes of one rule on one line, with what would do
// where it fits.
func (b *brief) lesser(same []check.Finding) {
	about := same[0].Title
	if len(same) > 1 {
		about += fmt.Sprintf(" (and %d more)", len(same)-1)
	}
	for _, remedy := range shorter(plain.Text(same[0].Remedy)) {
		if full := about + arrow + remedy; columns(opening(same[0])+full) <= b.width {
			about = full
			break
		}
	}
	b.line(same[0], about)
}

// opening is how the line of a finding begins: severity, rule and place.
func opening(f check.Finding) string {
	s := f.Severity.String() + " " + f.Rule + " "
	if at := plain.Text(f.Ref.String()); at != "" {
		s += at + " "
	}
	return s
}

// line writes one line about a finding. What does not fit is cut off its end.
func (b *brief) line(f check.Finding, about string) {
	line := b.clip(opening(f)+about, max(b.width, columns(opening(f))+1))
	rest, _ := strings.CutPrefix(line, f.Severity.String()+" "+f.Rule)
	b.text.WriteString(b.severity(f.Severity) + " " + b.in("1", f.Rule) + rest + "\n")
}

const (
	indent = "      " // as long as the word error
	arrow  = " → "    // from what is wrong to what would do
)

// repair is the number that is wrong and the one that would do, on one line if that
// can be: without what explains the first, then without alternatives to the second.
func (b *brief) repair(f check.Finding) string {
	evidence, remedies := plain.Text(f.Evidence), shorter(plain.Text(f.Remedy))
	line := evidence + arrow + remedies[0]
	for _, remedy := range remedies {
		if columns(indent+line) <= b.width {
			break
		}
		line = bare(evidence) + arrow + remedy
	}
	return line
}

// bare leaves out of an evidence what check.Verdict says explains it: parentheses,
// and what stands behind a colon.
func bare(evidence string) string {
	for {
		begin := strings.LastIndex(evidence, " (")
		if begin < 0 {
			break
		}
		end := strings.IndexByte(evidence[begin:], ')')
		if end < 0 {
			break
		}
		evidence = evidence[:begin] + evidence[begin+end+1:]
	}
	evidence, _, _ = strings.Cut(evidence, ": ")
	return evidence
}

// shorter lists a remedy whole, then without the last of its alternatives or
// explanations, down to the first of them.
func shorter(remedy string) []string {
	all := []string{remedy}
	for {
		end := 0
		for _, before := range []string{"; ", ": ", ", or ", ", so that "} {
			end = max(end, strings.LastIndex(remedy, before))
		}
		if end == 0 {
			return all
		}
		remedy = remedy[:end]
		all = append(all, remedy)
	}
}

// wrapped writes a text on as many lines as it takes, the first and the others behind
// their indent, with a word of it in colour.
func (b *brief) wrapped(first, others, text, word, code string) {
	for i, line := range wrap(text, b.width-len(others)) {
		before := first
		if i > 0 {
			before = others
		}
		b.text.WriteString(before + strings.Replace(line, word, b.in(code, word), 1) + "\n")
	}
}

// plainly writes a text on as many lines as it takes.
func (b *brief) plainly(text string) {
	b.text.WriteString(strings.Join(wrap(text, b.width), "\n") + "\n")
}

// wrap breaks a line between words.
func wrap(line string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(line) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case columns(*last)+1+columns(word) > width:
			lines = append(lines, word)
		default:
			*last += " " + word
		}
	}
	return lines
}

// clip cuts a text that is too long for its line on a terminal.
func (b *brief) clip(s string, width int) string {
	if b.whole || columns(s) <= width {
		return s
	}
	return string([]rune(s)[:max(width-1, 0)]) + "…"
}

func columns(s string) int { return utf8.RuneCountInString(s) }

// bySeverity takes errors apart from what is less. Errors are in the order of their
// places, those with most of them first: one edit then mends several. What is wrong
// with the input comes before them all, since the others may follow from it.
func bySeverity(all []check.Finding) (errors, others []check.Finding) {
	count := map[manifest.Ref]int{}
	for _, f := range all {
		if f.Severity == check.Error {
			errors = append(errors, f)
			count[f.Ref]++
		} else {
			others = append(others, f)
		}
	}
	slices.SortStableFunc(errors, func(x, y check.Finding) int {
		return cmp.Or(cmp.Compare(aboutCalls(x), aboutCalls(y)), cmp.Compare(count[y.Ref], count[x.Ref]), cmp.Compare(x.Ref.String(), y.Ref.String()))
	})
	return errors, others
}

// aboutCalls is 0 of a finding about the input, and 1 of one about calls.
func aboutCalls(f check.Finding) int {
	if slices.ContainsFunc(check.InputRules(), func(r check.Rule) bool { return r.ID == f.Rule }) {
		return 0
	}
	return 1
}

// byRule groups findings by rule, in the order of the first of each.
func byRule(all []check.Finding) [][]check.Finding {
	var groups [][]check.Finding
	index := map[string]int{}
	for _, f := range all {
		i, ok := index[f.Rule]
		if !ok {
			i = len(groups)
			index[f.Rule] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}
