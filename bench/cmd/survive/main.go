// Command survive prints what a default plan survives, beside bare net/http and a
// semaphore of 64 with a deadline written by hand.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/offtake-go/offtake/bench/survive"
	"github.com/offtake-go/offtake/capacity"
)

func main() {
	d := capacity.Demand{Replicas: 1}
	flag.Float64Var(&d.Rate, "rate", 100, "calls per `second`")
	flag.DurationVar(&d.Latency, "latency", 5*time.Millisecond, "the upstream's latency")
	flag.DurationVar(&d.Deadline, "deadline", 2*time.Second, "when the caller gives up")
	lasts := flag.Duration("lasts", 5*time.Second, "how long the fault lasts")
	flag.Parse()
	var rows []survive.Row
	for _, f := range survive.Faults() {
		row, err := survive.Run(d, f, *lasts)
		if err != nil {
			fmt.Fprintln(os.Stderr, "survive:", err)
			os.Exit(1)
		}
		rows = append(rows, row)
	}
	survive.Write(os.Stdout, rows)
}
