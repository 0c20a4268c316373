package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/bench/measure"
)

// Markdown is the whole report as tables.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Figures of one run\n\n%s, %s, %s. Repeat it with `make bench`.\n\n", r.Machine, r.Go, r.Date)
	b.WriteString("Times are CPU of the whole process over interleaved rounds, the first quarter of them; on a shared\nmachine look at ratios and allocations.\n\n")
	b.WriteString("## What a call costs\n\n")
	b.WriteString(CostTable("transport that answers at once", r.Layer))
	for _, part := range []struct {
		name  string
		costs []measure.Cost
	}{
		{"HTTP/1.1 on loopback", r.Loopback}, {"HTTP/1.1 with TLS", r.TLS}, {"HTTP/2", r.HTTP2},
		{"unary gRPC on loopback, client and server", r.GRPC}, {"a request through a server's door", r.Doors},
	} {
		b.WriteString("\n" + CostTable(part.name, part.costs))
	}
	b.WriteString("\n## Trouble\n\n" + r.OverloadTable() + "\n" + r.outageTable() + "\n" + r.deathTable() + "\n" + r.waitersTable())
	b.WriteString("\n## Versions\n\n")
	for _, module := range slices.Sorted(maps.Keys(r.Versions)) {
		fmt.Fprintf(&b, "* `%s` %s\n", module, r.Versions[module])
	}
	return b.String()
}

// CostTable is one way of calling, all stacks.
func CostTable(name string, costs []measure.Cost) string {
	rows := make([][]string, len(costs))
	for i, c := range costs {
		rows[i] = []string{
			c.Name, fmt.Sprintf("%.2f", c.P25/1000), fmt.Sprintf("%+.2f", (c.P25-costs[0].P25)/1000),
			fmt.Sprintf("%.2f", c.Ratio), fmt.Sprintf("%.0f", c.Allocs), fmt.Sprintf("%+.0f", c.AllocsOver),
		}
	}
	return table([]string{name, "CPU µs", "over bare", "ratio", "allocs", "over bare"}, rows)
}

// OverloadTable is goodput by how much is offered.
func (r *Report) OverloadTable() string {
	var rows [][]string
	for _, o := range r.Overload {
		rows = append(rows, []string{
			o.Name, fmt.Sprintf("%g×", o.Offered), fmt.Sprintf("%.0f %%", 100*o.Goodput), fmt.Sprintf("%.0f ms", o.P99),
			fmt.Sprint(o.Dials), fmt.Sprint(o.Wasted), fmt.Sprintf("%.2f", o.PerCall),
		})
	}
	return table([]string{"10 connections × 20 ms, TLS, callers leave after 200 ms", "offered", "goodput", "p99", "dials", "wasted", "requests per call"}, rows)
}

func (r *Report) outageTable() string {
	var rows [][]string
	for _, o := range r.Outage {
		rows = append(rows, []string{o.Name, fmt.Sprintf("%.2f", o.One), fmt.Sprintf("%.2f", o.Three)})
	}
	return table([]string{"upstream answers 503 to all: requests there for each call", "one layer", "three layers"}, rows)
}

func (r *Report) deathTable() string {
	var rows [][]string
	for _, d := range r.Death {
		rows = append(rows, []string{d.Name, fmt.Sprint(d.Warm), fmt.Sprint(d.Requests)})
	}
	return table([]string{"one request that makes the upstream hang up", "warm connections", "times it was sent"}, rows)
}

func (r *Report) waitersTable() string {
	var rows [][]string
	for _, w := range r.Waiters {
		rows = append(rows, []string{w.Name, fmt.Sprint(w.Count), fmt.Sprintf("%.0f", w.During), fmt.Sprintf("%.0f", w.After)})
	}
	return table([]string{"calls come while the only connection is busy", "calls", "bytes each, waiting", "bytes each, after they left"}, rows)
}

func table(head []string, rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|---|%s\n", strings.Join(head, " | "), strings.Repeat("---:|", len(head)-1))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}
