package main

import (
	"fmt"
	"io"
	"sync"
	"text/tabwriter"
	"time"
)

// follow prints a line each second of this machine until its result is called.
func follow(in Incident, t *tally, out io.Writer, load func() (inFlight, atGateway int64)) (stop func()) {
	ended := make(chan struct{})
	var printing sync.WaitGroup
	printing.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		start := time.Now()
		var before [4]int64
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			completed, wait := t.since()
			now := [4]int64{t.offered.Load(), int64(completed), t.failed.Load(), t.refused.Load()}
			per := func(i int) float64 { return float64(now[i]-before[i]) / in.scale }
			inFlight, atGateway := load()
			fmt.Fprintf(out, "  %4.0fs  %4.0f orders/s   %3d at the processor, %4d waiting (p95 %5.1fs)   done %4.0f/s  failed %4.0f/s  429 %4.0f/s\n",
				in.realTime(time.Since(start)).Seconds(), per(0), inFlight, max(0, atGateway-inFlight), in.realTime(wait).Seconds(), per(1), per(2), per(3))
			before = now
		}
	})
	return func() {
		close(ended)
		printing.Wait()
	}
}

// mostLate is what a quiet machine keeps to; a caller gives up after 1.6 s.
const mostLate = 200 * time.Millisecond

// compare prints both rounds side by side.
func compare(out io.Writer, in Incident, one, two *tally) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, value func(*tally) string) {
		fmt.Fprintf(w, "%s\t%s\t%s\t\n", name, value(one), value(two))
	}
	latencies := func(t *tally) []time.Duration { all, _ := t.times(); return all }
	waits := func(t *tally) []time.Duration { _, all := t.times(); return all }
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.2f s", in.realTime(d).Seconds()) }
	share := func(n, of int64) string { return fmt.Sprintf("%d (%.1f %%)", n, 100*float64(n)/float64(max(1, of))) }

	fmt.Fprintf(w, "\n\tcopied number\tfrom the demand\t\n")
	row("orders", func(t *tally) string { return fmt.Sprint(t.offered.Load()) })
	row("completed", func(t *tally) string { return share(int64(len(latencies(t))), t.offered.Load()) })
	row("failed", func(t *tally) string { return share(t.failed.Load(), t.offered.Load()) })
	row("refused with 429", func(t *tally) string { return share(t.refused.Load(), t.offered.Load()) })
	row("order p50", func(t *tally) string { return seconds(percentile(latencies(t), 0.50)) })
	row("order p95", func(t *tally) string { return seconds(percentile(latencies(t), 0.95)) })
	row("wait for a connection p95", func(t *tally) string { return seconds(percentile(waits(t), 0.95)) })
	row("requests at the processor", func(t *tally) string { return fmt.Sprint(t.authorizations.Load()) })
	row("wasted: the caller had left", func(t *tally) string { return share(t.wasted.Load(), t.authorizations.Load()) })
	w.Flush()
	if late := time.Duration(max(one.late.Load(), two.late.Load())); late > mostLate {
		fmt.Fprintf(out, "\nThis machine was busy: it placed an order %v late, and the figures may be worse than the incident's. A quiet one would do, or -scale 2.\n", late.Round(time.Millisecond))
	}
}
