// Command offtake plans the sizes of a service's calls, and checks that all controls
// around them hold together.
//
//	offtake plan      derive sizes from flags or a contract, beside their formulas
//	offtake check     compare a contract with the manifests that really run
//	offtake diff      say what a change of a contract does to its capacity
//	offtake simulate  run what happens to a service, in virtual time
//	offtake vet       find the calls in Go code that nothing bounds
//	offtake explain   say what a rule of check or vet means
//	offtake init      write a commented contract to start from
//	offtake schema    print the JSON Schema of the contract
//	offtake version   print the version
//
// It exits with 0 if all is well, 1 for findings at or above a severity, and 2 for
// bad input.
package main

import (
	"context"
	"encoding"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"text/tabwriter"
	"time"

	"golang.org/x/term"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/internal/plain"
	"github.com/offtake-go/offtake/tools/vet/driver"
)

// Exit codes.
const (
	exitOK       = 0
	exitFindings = 1
	exitBadInput = 2
)

// A call is one run of the command: what a process has around it.
type call struct {
	// ctx ends when the user has had enough.
	ctx            context.Context
	stdin          io.Reader
	stdout, stderr io.Writer

	// colour says that stdout is a terminal that shows colours, width how many
	// columns it has; 0 is unknown.
	colour bool
	width  int
	now    time.Time
}

// A command is one word after offtake. run returns the exit code; an error is bad
// input and is printed.
type command struct {
	name, usage, about string
	run                func(c *call, args []string) (int, error)
}

func commands() []command {
	return []command{
		{"plan", "[flags] [UPSTREAM...]", "derive sizes from flags or a contract, beside their formulas", plan},
		{"check", "[flags] [FILE|DIR|-]...", "compare a contract with the manifests that really run", runCheck},
		{"diff", "[flags] OLD NEW", "say what a change of a contract does to its capacity", diff},
		{"simulate", "[flags] SCENARIO", "run what happens to a service, in virtual time", simulate},
		{"vet", "[flags] PACKAGE...", "find the calls in Go code that nothing bounds", vet},
		{"explain", "[RULE]", "say what a rule of check or vet means", explain},
		{"init", "[flags] [FILE|-]", "write a commented contract to start from", initialize},
		{"schema", "", "print the JSON Schema of the contract", schema},
		{"version", "", "print the version", printVersion},
	}
}

func main() {
	os.Exit(run(os.Args[1:]))
}

// run is main with its deferred calls.
func run(args []string) int {
	// The go command runs this program for each package when offtake vet has made
	// it its tool.
	if len(args) > 0 && !isCommand(args[0]) && driver.Called(args) {
		driver.Unit(args)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	c := &call{ctx: ctx, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, colour: isTerminal(os.Stdout), width: columns(os.Stdout), now: time.Now()}
	return c.main(args)
}

func isCommand(name string) bool {
	return slices.ContainsFunc(commands(), func(cmd command) bool { return cmd.name == name })
}

func (c *call) main(args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		c.help(c.stdout)
		return exitOK
	}
	for _, cmd := range commands() {
		if cmd.name != args[0] {
			continue
		}
		code, err := cmd.run(c, args[1:])
		if errors.Is(err, flag.ErrHelp) {
			return exitOK
		}
		if err != nil {
			fmt.Fprintln(c.stderr, plain.Lines(err.Error()))
			return exitBadInput
		}
		return code
	}
	fmt.Fprintf(c.stderr, "offtake: there is no command %q\n\n", args[0])
	c.help(c.stderr)
	return exitBadInput
}

func (c *call) help(out io.Writer) {
	fmt.Fprint(out, "Usage: offtake COMMAND [ARGUMENTS]\n\n")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, cmd := range commands() {
		fmt.Fprintf(w, "  %s\t%s\n", cmd.name, cmd.about)
	}
	fmt.Fprint(w, "\nofftake COMMAND -h lists its flags.\n")
	if err := w.Flush(); err != nil {
		fmt.Fprintln(c.stderr, err)
	}
}

// flags returns the flag set of a command. Its -h goes to stdout, since it was
// asked for.
func (c *call) flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet("offtake "+name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	return f
}

// parse parses flags wherever they stand among the arguments.
func (c *call) parse(f *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				c.flagHelp(f)
			}
			return nil, err
		}
		args = f.Args()
		if len(args) == 0 {
			break
		}
		rest, args = append(rest, args[0]), args[1:]
	}
	return rest, nil
}

// durationFlag defines a flag for a time. It is tempting to use flag.DurationVar, but
// of a time without a unit that says only that it does not parse.
func durationFlag(f *flag.FlagSet, d *time.Duration, name, usage string) {
	f.Func(name, usage, func(s string) error {
		v, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is no time with a unit; 300ms would do, or 1.5s", s)
		}
		*d = v
		return nil
	})
}

// textFlag defines a flag whose zero value is none, and so no default to show.
func textFlag(f *flag.FlagSet, v encoding.TextUnmarshaler, name, usage string) {
	f.Func(name, usage, func(s string) error { return v.UnmarshalText([]byte(s)) })
}

// load reads the contract.
func load(file, environment string) (*contract.Contract, error) {
	k, err := contract.Load(file, environment)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w; -f names another file, and offtake init writes one", err)
	}
	return k, err
}

func (c *call) flagHelp(f *flag.FlagSet) {
	for _, cmd := range commands() {
		if "offtake "+cmd.name == f.Name() {
			fmt.Fprintf(c.stdout, "Usage: offtake %s %s\n\nofftake %s: %s.\n\n", cmd.name, cmd.usage, cmd.name, cmd.about)
		}
	}
	f.SetOutput(c.stdout)
	f.PrintDefaults()
}

// isTerminal reports whether f is a terminal whose user has not asked for plain
// text.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// columns is the width of a terminal; 0 if f is none.
func columns(f *os.File) int {
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}
