package simreport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/capacity/simulate/scenario"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

const usage = `usage: offtake simulate [flags] SCENARIO

Runs what SCENARIO says happens to a service and its upstream, in virtual time,
and shows what their timeouts, retries, queues, detectors and probes make of it.

  offtake simulate incident.yaml --against repaired.yaml --html report.html
  offtake simulate incident.yaml --sweep maxEjectionPercent=10..100/10

flags:
`

// What Run returns.
const (
	exitOK     = 0
	exitFailed = 1 // the run, or writing its report
	exitUsage  = 2 // the arguments or the files
)

type options struct {
	path, against, html, format, sweep string
	seeds                              int
	seed                               uint64
}

// Run is the command offtake simulate. It writes the report to stdout, and
// progress and errors to stderr, and returns the exit code: 0, 1 if the run failed
// or ctx ended, 2 if arguments or files have mistakes.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parseArgs(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(stderr, "offtake simulate:", plain.Lines(err.Error()))
		return exitUsage
	}
	r, err := load(o)
	if err != nil {
		fmt.Fprintln(stderr, plain.Lines(err.Error()))
		return exitUsage
	}
	if err := r.run(ctx, o, stderr); err != nil {
		fmt.Fprintln(stderr, "offtake simulate:", plain.Lines(err.Error()))
		return exitFailed
	}
	if err := r.write(o, stdout); err != nil {
		fmt.Fprintln(stderr, "offtake simulate:", plain.Lines(err.Error()))
		return exitFailed
	}
	return exitOK
}

// parseArgs reads flags before and after the scenario.
func parseArgs(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.StringVar(&o.against, "against", "", "a second scenario, shown beside the first")
	flags.StringVar(&o.html, "html", "", "write a report to this file, which needs nothing else")
	flags.StringVar(&o.format, "format", "text", "what goes to standard output: text or json")
	flags.StringVar(&o.sweep, "sweep", "", "run one setting over values, such as maxEjectionPercent=10..100/10 or perTry=1s,2s")
	flags.IntVar(&o.seeds, "seeds", 0, "how many runs, each with its own random draws; 0 is what the scenario says")
	flags.Uint64Var(&o.seed, "seed", 0, "the first seed")
	var paths []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return o, err
		}
		if flags.NArg() > 0 {
			paths = append(paths, flags.Arg(0))
		}
		args = flags.Args()[min(1, flags.NArg()):]
	}
	switch {
	case len(paths) != 1:
		return o, fmt.Errorf("%d scenarios are given; one would do, and a second with --against", len(paths))
	case o.format != "text" && o.format != "json":
		return o, fmt.Errorf("--format %q is not known; text or json would do", o.format)
	case o.seeds < 0:
		return o, fmt.Errorf("--seeds %d run nothing; 5 would do", o.seeds)
	}
	o.path = paths[0]
	return o, nil
}

// A Report is everything that was run: one scenario or two, and a sweep of the
// first. As JSON it has the settings of each by the paths of their keys, and all
// that [simulate.Result] has; times are in nanoseconds there, as Go writes them.
type Report struct {
	Played []*Played
	Sweep  *Sweep `json:",omitempty"`
}

// MarshalJSON writes the scenario by its settings, and its results.
func (p *Played) MarshalJSON() ([]byte, error) {
	stated := map[string]string{}
	for _, s := range settings(p.File) {
		stated[s.key] = s.value
	}
	return json.Marshal(struct {
		Name, About string
		Settings    map[string]string
		Results     []*simulate.Result
	}{p.File.Name, p.File.About, stated, p.Results})
}

// load reads all files, so that all their mistakes show before anything runs.
func load(o options) (*Report, error) {
	r := &Report{}
	var errs []error
	for _, path := range []string{o.path, o.against} {
		if path == "" {
			continue
		}
		f, err := scenario.Load(path)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if o.seeds > 0 {
			f.Seeds = o.seeds
		}
		r.Played = append(r.Played, &Played{File: f})
	}
	if o.sweep != "" {
		s, err := parseSweep(o.sweep)
		if err == nil && len(errs) == 0 {
			err = s.load(o.path)
		}
		errs = append(errs, err)
		r.Sweep = s
	}
	return r, errors.Join(errs...)
}

// run plays everything, on all cores.
func (r *Report) run(ctx context.Context, o options, stderr io.Writer) error {
	for _, p := range r.Played {
		draw, wipe := progressOn(stderr, "simulating")
		results, err := simulate.Repeat(ctx, p.File.Scenario(), p.File.Seeds, &simulate.Options{Seed: o.seed, Progress: draw})
		wipe()
		if err != nil {
			return err
		}
		p.Results = results
	}
	if r.Sweep == nil {
		return nil
	}
	draw, wipe := progressOn(stderr, "sweeping")
	defer wipe()
	rows, err := simulate.Grid(ctx, r.Sweep.scenarios, r.Played[0].File.Seeds, &simulate.Options{Seed: o.seed, Progress: draw})
	r.Sweep.Rows = rows
	return err
}

func (r *Report) write(o options, stdout io.Writer) error {
	var b bytes.Buffer
	if o.format == "json" {
		encoder := json.NewEncoder(&b)
		encoder.SetIndent("", " ")
		if err := encoder.Encode(r); err != nil {
			return err
		}
	} else {
		var text strings.Builder
		writeText(&text, r.Played)
		if r.Sweep != nil {
			writeSweep(&text, r.Sweep, r.Played[0].File)
		}
		b.WriteString(plain.Lines(text.String()))
	}
	if o.html != "" {
		var page bytes.Buffer
		if err := r.WriteHTML(&page); err != nil {
			return err
		}
		if err := os.WriteFile(o.html, page.Bytes(), 0o644); err != nil {
			return err
		}
		if o.format == "text" {
			fmt.Fprintf(&b, "\nThe report is in %s.\n", o.html)
		}
	}
	_, err := stdout.Write(b.Bytes())
	return err
}
