// Command offtakebench measures offtake beside its peers, and writes what it found
// as JSON, Markdown and one page with plots.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/offtake-go/offtake/bench/measure"
	"github.com/offtake-go/offtake/bench/peers"
	"github.com/offtake-go/offtake/bench/report"
)

func main() {
	out := flag.String("out", "results", "the `folder` to write to")
	short := flag.Bool("short", false, "fewer rounds: some minutes instead of a quarter of an hour")
	flag.Parse()
	if err := run(*out, *short, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "offtakebench:", err)
		os.Exit(1)
	}
}

func run(out string, short bool, progress io.Writer) error {
	stacks := peers.HTTPStacks()
	r := report.New()
	r.Short = short
	rounds := 40
	if short {
		rounds = 8
	}
	start := time.Now()
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"cost of a layer", func() (err error) { r.Layer, err = measure.Layer(stacks, rounds, 20_000); return }},
		{"cost on loopback", func() (err error) { r.Loopback, err = measure.Loopback(stacks, false, false, rounds/2, 2_000); return }},
		{"cost with TLS", func() (err error) { r.TLS, err = measure.Loopback(stacks, true, false, rounds/4, 2_000); return }},
		{"cost over HTTP/2", func() (err error) { r.HTTP2, err = measure.Loopback(stacks, true, true, rounds/4, 2_000); return }},
		{"cost of gRPC", func() (err error) { r.GRPC, err = measure.GRPC(peers.GRPCStacks(), rounds, 2_000); return }},
		{"cost of a door", func() (err error) { r.Doors, err = measure.Doors(peers.Doors(), rounds, 20_000); return }},
		{"overload", func() error { return overload(r, stacks) }},
		{"outage", func() error { return outage(r, stacks) }},
		{"query of death", func() error { return death(r, stacks) }},
		{"waiters", func() error { return waiters(r, stacks) }},
	} {
		fmt.Fprintf(progress, "%5.0fs  %s\n", time.Since(start).Seconds(), step.name)
		if err := step.run(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	fmt.Fprintf(progress, "%5.0fs  done; see %s/results.html\n", time.Since(start).Seconds(), out)
	return r.Write(out)
}

// those picks stacks by name: the ones that have something to say in trouble.
func those(stacks []peers.HTTP, names ...string) []peers.HTTP {
	return slices.DeleteFunc(slices.Clone(stacks), func(s peers.HTTP) bool { return !slices.Contains(names, s.Name) })
}

func overload(r *report.Report, stacks []peers.HTTP) error {
	for _, s := range those(stacks, "net/http", "go-retryablehttp", "resty", "failsafe-go, four policies", "offtake") {
		o, err := measure.Usual.Overloads(s, 0.5, 1, 2, 3)
		if err != nil {
			return err
		}
		r.Overload = append(r.Overload, o...)
	}
	return nil
}

// outage leaves heimdall out: it does not close the bodies of the attempts that it
// repeats, so that a bounded pool runs dry and every call ends by its deadline.
func outage(r *report.Report, stacks []peers.HTTP) error {
	for _, s := range those(stacks, "net/http", "rehttp", "go-retryablehttp", "resty", "failsafe-go, retry", "failsafe-go, four policies", "offtake") {
		o, err := measure.Outages(s, 100)
		if err != nil {
			return err
		}
		r.Outage = append(r.Outage, o)
	}
	return nil
}

func death(r *report.Report, stacks []peers.HTTP) error {
	for _, s := range those(stacks, "net/http", "go-retryablehttp", "failsafe-go, four policies", "offtake") {
		d, err := measure.Deaths(s, 50)
		if err != nil {
			return err
		}
		r.Death = append(r.Death, d)
	}
	return nil
}

func waiters(r *report.Report, stacks []peers.HTTP) error {
	for _, s := range those(stacks, "net/http", "failsafe-go, four policies", "offtake") {
		w, err := measure.Waiting(s, 20_000)
		if err != nil {
			return err
		}
		r.Waiters = append(r.Waiters, w)
	}
	return nil
}
