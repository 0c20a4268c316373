package survive

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// A Row is one fault and what came of it for each client.
type Row struct {
	Fault   Fault
	Clients []Outcome
}

// An Outcome is how many calls of one client were answered well.
type Outcome struct {
	Client           string
	During, DuringOf int64         // of the calls that began while the fault lasted
	Kept             time.Duration // how long a call that failed under the fault kept its caller, on average
	After, AfterOf   int64         // of those that began in the same time after it
}

// Run sends the rate of the demand, evenly, to each client's own upstream: for the
// time lasts before the fault, for as long under it, and for as long after it.
func Run(d capacity.Demand, f Fault, lasts time.Duration) (Row, error) {
	var upstreams []*upstream
	defer func() {
		for _, u := range upstreams {
			u.CloseClientConnections()
			u.Close()
		}
	}()
	all, err := clients(d, func() string {
		u := newUpstream(d.Latency)
		upstreams = append(upstreams, u)
		return u.URL
	})
	if err != nil {
		return Row{}, err
	}
	row := Row{Fault: f, Clients: make([]Outcome, len(all))}
	n := int(lasts.Seconds() * d.Rate / float64(d.Replicas))
	var calls sync.WaitGroup
	during, after, kept := make([]atomic.Int64, len(all)), make([]atomic.Int64, len(all)), make([]atomic.Int64, len(all))
	every(lasts/time.Duration(n), 3*n, func(i int) {
		switch i {
		case n:
			each(upstreams, &f)
		case 2 * n:
			each(upstreams, &Fault{})
		}
		for k, c := range all {
			calls.Go(func() {
				began := time.Now()
				ok, under := c.do(f.Method), i >= n && i < 2*n
				switch {
				case under && ok:
					during[k].Add(1)
				case under:
					kept[k].Add(int64(time.Since(began)))
				case ok && i >= 2*n:
					after[k].Add(1)
				}
			})
		}
	})
	calls.Wait()
	for k, c := range all {
		c.close()
		row.Clients[k] = Outcome{c.name, during[k].Load(), int64(n), meanOf(kept[k].Load(), int64(n)-during[k].Load()), after[k].Load(), int64(n)}
	}
	return row, nil
}

func each(upstreams []*upstream, f *Fault) {
	for _, u := range upstreams {
		u.fault.Store(f)
	}
}

// Write writes the rows as a table in Markdown: the share of calls that were answered
// well during the fault, how long the others kept their callers, and the share in the
// same time after it if that is not all.
func Write(w io.Writer, rows []Row) {
	if len(rows) == 0 {
		return
	}
	var names, lines []string
	for _, o := range rows[0].Clients {
		names, lines = append(names, o.Client), append(lines, "---")
	}
	fmt.Fprintf(w, "| fault | %s |\n|---|%s|\n", strings.Join(names, " | "), strings.Join(lines, "|"))
	for _, r := range rows {
		fmt.Fprintf(w, "| %s", r.Fault.Name)
		for _, o := range r.Clients {
			fmt.Fprintf(w, " | %s", share(o.During, o.DuringOf))
			if o.Kept > 0 {
				fmt.Fprintf(w, ", the others after %v", o.Kept.Round(time.Millisecond))
			}
			if o.After < o.AfterOf {
				fmt.Fprintf(w, "; then %s", share(o.After, o.AfterOf))
			}
		}
		fmt.Fprintln(w, " |")
	}
}

func meanOf(sum, n int64) time.Duration { return time.Duration(sum / max(n, 1)) }

func share(n, of int64) string { return fmt.Sprintf("%.3g %%", 100*float64(n)/float64(max(of, 1))) }
