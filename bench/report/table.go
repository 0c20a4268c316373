package report

import (
	"fmt"
	"strings"
)

// Table is a table with a name by which documents ask for it.
type Table struct {
	Name string
	Lead string // a sentence or two on what was measured; "" if the head says it
	Head []string
	Rows [][]string

	Words bool // there are more words in it than numbers
}

// Markdown is the table alone.
func (t Table) Markdown() string {
	column := "---:|"
	if t.Words {
		column = "---|"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(t.Head, " | "), strings.Repeat(column, len(t.Head)-1))
	for _, row := range t.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// rowsOf makes a row of each thing.
func rowsOf[T any](all []T, row func(T) []string) [][]string {
	rows := make([][]string, len(all))
	for i, x := range all {
		rows[i] = row(x)
	}
	return rows
}

// milliseconds says a time as people do.
func milliseconds(ms float64) string {
	if ms >= 1000 {
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

// seconds says a time, or that it did not come within what was watched.
func seconds(s, watched float64) string {
	if s < 0 {
		return fmt.Sprintf("not in %.0f s", watched)
	}
	return fmt.Sprintf("%.1f s", s)
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
