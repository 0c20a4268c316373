package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Tables are all of them, in the order of the report.
func (r *Report) Tables() []Table {
	return slices.Concat([]Table{r.summary(), r.targets(), r.ranking()}, r.costs(), []Table{r.scaling()}, r.trouble())
}

// Run says what was measured where.
func (r *Report) Run() string {
	form := "the full form"
	if r.Short {
		form = "the short form"
	}
	return fmt.Sprintf("%s; %s; %s; %s of the measurement.", r.Machine, r.Go, r.Date, form)
}

// Markdown is the whole report as tables.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Figures of one run\n\n%s\nRepeat it in the folder `bench` with `%s`.\n\n", r.Run(), r.Command)
	b.WriteString("Times are CPU of the whole process over interleaved rounds, the first quarter of them; on a shared\nmachine look at ratios and allocations.\n\n")
	for _, part := range []struct {
		title  string
		tables []Table
	}{
		{"In short", []Table{r.summary(), r.targets(), r.ranking()}},
		{"What a call costs", r.costs()},
		{"Crowds", []Table{r.scaling()}},
		{"Trouble", r.trouble()},
	} {
		measured := slices.DeleteFunc(part.tables, func(t Table) bool { return len(t.Rows) == 0 })
		if len(measured) == 0 {
			continue
		}
		fmt.Fprintf(&b, "## %s\n\n", part.title)
		for _, t := range measured {
			if t.Lead != "" {
				b.WriteString(t.Lead + "\n\n")
			}
			b.WriteString(t.Markdown() + "\n")
		}
	}
	b.WriteString("## Versions\n\n")
	for _, module := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Fprintf(&b, "* `%s` %s\n", module, r.Versions[module])
	}
	return b.String()
}
