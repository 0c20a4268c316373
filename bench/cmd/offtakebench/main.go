// Command offtakebench measures offtake beside its peers, and writes what it found
// as JSON, Markdown and one page with plots.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/offtake-go/offtake/bench/measure"
	"github.com/offtake-go/offtake/bench/peers"
	"github.com/offtake-go/offtake/bench/report"
)

func main() {
	out := flag.String("out", "results", "the `folder` to write to")
	short := flag.Bool("short", false, "fewer rounds: some minutes instead of half an hour")
	only := flag.String("only", "", "the `steps` to take, between commas, instead of all")
	flag.Parse()
	if err := run(*out, *short, *only, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "offtakebench:", err)
		os.Exit(1)
	}
}

// step is one measurement. Its name is that of -only.
type step struct {
	name string
	run  func() error
}

func run(out string, short bool, only string, progress io.Writer) error {
	r := report.New()
	r.Short = short
	r.Command = command(os.Args[1:])
	steps, err := chosen(steps(r), only)
	if err != nil {
		return err
	}
	start := time.Now()
	for _, step := range steps {
		fmt.Fprintf(progress, "%5.0fs  %s\n", time.Since(start).Seconds(), step.name)
		if err := step.run(); errors.Is(err, errors.ErrUnsupported) {
			fmt.Fprintln(progress, "        left out:", err)
		} else if err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	fmt.Fprintf(progress, "%5.0fs  done; see %s/results.html, and write the tables of the documents with: go test ./report -update\n", time.Since(start).Seconds(), out)
	return r.Write(out)
}

// command is what a shell takes to run this with such arguments.
func command(args []string) string {
	all := "go run ./cmd/offtakebench"
	for _, a := range args {
		if strings.Contains(a, " ") {
			a = "'" + a + "'"
		}
		all += " " + a
	}
	return all
}

// chosen are the steps with the names between the commas; all, if there are none.
func chosen(all []step, only string) ([]step, error) {
	if only == "" {
		return all, nil
	}
	var some []step
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(all, func(s step) bool { return s.name == strings.TrimSpace(name) })
		if i < 0 {
			var names []string
			for _, s := range all {
				names = append(names, s.name)
			}
			return nil, fmt.Errorf("-only: there is no step %q; there are: %s", name, strings.Join(names, ", "))
		}
		some = append(some, all[i])
	}
	return some, nil
}

// steps are all of them, in the form that the report has.
func steps(r *report.Report) []step {
	stacks := peers.HTTPStacks()
	rounds, passes, overloaded, flickering, bump := 40, 200_000, measure.Usual, measure.Flickering, measure.Metastable
	if r.Short {
		rounds, passes = 8, 50_000
		overloaded.During, flickering.During = 2*time.Second, 2*time.Second
		bump.Lasts, bump.Watch = 4*time.Second, 3*time.Second
	}
	trouble := peers.InTrouble()
	leaky := append(peers.Named(stacks, "context.WithTimeout", "http.Client.Timeout"), trouble...)
	return []step{
		{"cost of a layer", func() (err error) { r.Layer, err = measure.Layer(stacks, 2*rounds, 10_000); return }},
		{"cost on loopback", func() (err error) { r.Loopback, err = measure.Loopback(stacks, false, false, rounds, 1_000); return }},
		{"cost with TLS", func() (err error) { r.TLS, err = measure.Loopback(stacks, true, false, rounds, 500); return }},
		{"cost over HTTP/2", func() (err error) { r.HTTP2, err = measure.Loopback(stacks, true, true, rounds, 500); return }},
		{"cost of gRPC", func() (err error) { r.GRPC, err = measure.GRPC(peers.GRPCStacks(), rounds, 2_000); return }},
		{"cost of a door", func() (err error) { r.Doors, err = measure.Doors(peers.Doors(), rounds, 20_000); return }},
		{"overload", func() error { return overload(r, overloaded, stacks) }},
		{"outage", func() error { return outage(r, stacks) }},
		{"query of death", func() error { return death(r, stacks) }},
		{"waiters", func() error { return waiters(r, stacks) }},
		{"brown-out", func() (err error) { r.BrownOut, err = oneByOne(trouble, flickering.BrownOuts); return }},
		{"first burst", func() (err error) { r.FirstBurst, err = oneByOne(trouble, measure.Overseas.FirstBursts); return }},
		{"recovery", func() (err error) { r.Recovery, err = oneByOne(trouble, bump.Recoveries); return }},
		{"hung dial", func() (err error) { r.HungDial, err = measure.Cable.All(trouble); return }},
		{"dead address", func() (err error) { r.DeadAddress, err = measure.DeadAddresses(trouble, 10, 4*time.Second); return }},
		{"forgotten bodies", func() (err error) { r.Leak, err = measure.Scatterbrain.All(leaky); return }},
		{"scaling", func() (err error) { r.Scaling, err = measure.Scalings(rounds, passes); return }},
	}
}

// oneByOne measures each stack alone: all of them want the cores.
func oneByOne[T any](stacks []peers.HTTP, measure func(peers.HTTP) (T, error)) ([]T, error) {
	var all []T
	for _, s := range stacks {
		one, err := measure(s)
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

func overload(r *report.Report, b measure.Bottleneck, stacks []peers.HTTP) error {
	for _, s := range peers.Named(stacks, "net/http", "go-retryablehttp", "resty", "failsafe-go, four policies", "offtake") {
		o, err := b.Overloads(s, 0.5, 1, 2, 3)
		if err != nil {
			return err
		}
		r.Overload = append(r.Overload, o...)
	}
	return nil
}

func outage(r *report.Report, stacks []peers.HTTP) error {
	for _, s := range peers.Named(stacks, "net/http", "rehttp", "go-retryablehttp", "heimdall", "resty", "failsafe-go, retry", "failsafe-go, retry with a budget", "failsafe-go, four policies", "offtake") {
		o, err := measure.Outages(s, 100)
		if err != nil {
			return err
		}
		r.Outage = append(r.Outage, o)
	}
	return nil
}

func death(r *report.Report, stacks []peers.HTTP) error {
	for _, s := range peers.Named(stacks, "net/http", "go-retryablehttp", "failsafe-go, four policies", "offtake") {
		d, err := measure.Deaths(s, 50)
		if err != nil {
			return err
		}
		r.Death = append(r.Death, d)
	}
	return nil
}

func waiters(r *report.Report, stacks []peers.HTTP) error {
	for _, s := range peers.Named(stacks, "net/http", "failsafe-go, four policies", "offtake") {
		w, err := measure.Waiting(s, 20_000, 2*time.Second)
		if err != nil {
			return err
		}
		r.Waiters = append(r.Waiters, w)
	}
	return nil
}
