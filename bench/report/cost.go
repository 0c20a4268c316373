package report

import (
	"fmt"

	"github.com/offtake-go/offtake/bench/measure"
)

// costs are the tables of what a call costs, by way of calling.
func (r *Report) costs() []Table {
	return []Table{
		costTable("layer", "transport that answers at once", r.Layer),
		costTable("loopback", "HTTP/1.1 on loopback, both sides", r.Loopback),
		costTable("tls", "HTTP/1.1 with TLS, both sides", r.TLS),
		costTable("http2", "HTTP/2, both sides", r.HTTP2),
		costTable("grpc", "unary gRPC on loopback, both sides", r.GRPC),
		costTable("door", "a request through a server's door", r.Doors),
	}
}

func costTable(name, what string, costs []measure.Cost) Table {
	return Table{
		Name: name,
		Head: []string{what, "CPU µs", "min – median", "over bare", "ratio", "allocs", "over bare"},
		Rows: rowsOf(costs, func(c measure.Cost) []string {
			return []string{
				c.Name, fmt.Sprintf("%.2f", c.P25/1000), fmt.Sprintf("%.2f – %.2f", c.Min/1000, c.Median/1000),
				fmt.Sprintf("%+.2f", (c.P25-costs[0].P25)/1000), fmt.Sprintf("%.2f", c.Ratio),
				fmt.Sprintf("%.0f", c.Allocs), fmt.Sprintf("%+.0f", c.AllocsOver),
			}
		}),
	}
}

// scaling has a column for each crowd.
func (r *Report) scaling() Table {
	t := Table{
		Name: "scaling",
		Lead: "All goroutines pass through one thing as often as they can, on one core and on two; there is always a place. CPU of the process in ns for one pass, the first quarter of all rounds.",
		Head: []string{"CPU ns a pass, cores × goroutines"},
	}
	for _, name := range measure.Names(r.Scaling) {
		row := []string{name}
		for _, s := range r.Scaling {
			if s.Name != name {
				continue
			}
			if len(t.Rows) == 0 {
				t.Head = append(t.Head, fmt.Sprintf("%d × %d", s.Cores, s.PerCore))
			}
			row = append(row, fmt.Sprintf("%.0f", s.P25))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
