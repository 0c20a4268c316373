package driver

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/tools/vet"
)

// The exit codes of Run.
const (
	clean   = 0 // nothing was found
	found   = 1 // something was, or the baseline may shrink
	failure = 2 // it could not be told: bad flags, code that does not compile
)

// A command is what the arguments ask for.
type command struct {
	json, sarif  bool
	fix, diff    bool
	baseline     string
	update       bool
	selfTest     bool
	listRules    bool
	tags         string
	analyzer     []string // settings to hand on, as -offtake.name=value
	packages     []string
	stdout, errs io.Writer
}

// Run vets the packages that args name, the current one if there are none,
// and returns the exit code: 0 for nothing found, 1 for findings, 2 if the
// packages could not be checked. -h explains the flags.
func Run(args []string, stdout, stderr io.Writer) int {
	c := &command{stdout: stdout, errs: stderr}
	fs := c.flags()
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return clean
		}
		return failure
	}
	c.packages = fs.Args()
	code, err := c.run()
	if err != nil {
		fmt.Fprintf(stderr, "offtakevet: %v\n", err)
		return failure
	}
	return code
}

const usage = `usage: offtakevet [flags] [packages]

offtakevet finds the calls to other services in Go code that nothing bounds, and
the clients that are built outside of the shared factory. Packages are named as
for go build; without one it vets that of the current directory.

It exits with 0 if nothing was found, 1 if something was, or if the baseline may
shrink, and 2 if the packages could not be checked: bad flags, or code that does
not compile.

Profiles: bugs always runs, and reports what follows from the code. strict adds
policy, advice adds sizes worth a second look: -profile=strict,advice runs all.
-rules lists the rules; offtake explain OT101 explains one.

`

func (c *command) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("offtakevet", flag.ContinueOnError)
	fs.SetOutput(c.errs)
	fs.Usage = func() {
		fmt.Fprint(c.errs, usage)
		fs.PrintDefaults()
	}
	fs.BoolVar(&c.json, "json", false, "print the findings as JSON")
	fs.BoolVar(&c.sarif, "sarif", false, "print the findings as SARIF 2.1.0")
	fs.BoolVar(&c.fix, "fix", false, "apply the fixes, as go vet -fix does")
	fs.BoolVar(&c.diff, "diff", false, "with -fix, print what it would change")
	fs.StringVar(&c.baseline, "baseline", "", "a `file` with the number of findings to tolerate, for each package and rule")
	fs.BoolVar(&c.update, "baseline-update", false, "lower the numbers in the baseline to what was found, or make the file if there is none")
	fs.BoolVar(&c.selfTest, "selftest", false, "check that a command, given as arguments, reports a planted defect; by default go vet with this program")
	fs.BoolVar(&c.listRules, "rules", false, "list the rules")
	fs.StringVar(&c.tags, "tags", "", "build `tags`, as for go build")

	// Settings are checked here already, by an analyzer that is not used further:
	// the mistakes then come once, and not once for every package.
	a, err := vet.New(nil)
	if err != nil {
		panic(err) // the zero Options are valid
	}
	a.Flags.VisitAll(func(f *flag.Flag) {
		set := func(v string) error {
			if err := f.Value.Set(v); err != nil {
				return err
			}
			c.analyzer = append(c.analyzer, "-"+a.Name+"."+f.Name+"="+v)
			return nil
		}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
			fs.BoolFunc(f.Name, f.Usage, set)
		} else {
			fs.Func(f.Name, f.Usage, set)
		}
	})
	return fs
}

// check names every pair of flags that do not go together.
func (c *command) check() error {
	var errs []error
	only := func(name string, on bool, with ...string) {
		if on && len(with) > 0 {
			errs = append(errs, fmt.Errorf("-%s does not go with %s", name, strings.Join(with, ", ")))
		}
	}
	set := func(flags map[string]bool) (names []string) {
		for name, on := range flags {
			if on {
				names = append(names, "-"+name)
			}
		}
		slices.Sort(names)
		return names
	}
	only("sarif", c.sarif, set(map[string]bool{"json": c.json})...)
	only("fix", c.fix, set(map[string]bool{"json": c.json, "sarif": c.sarif, "baseline": c.baseline != ""})...)
	if c.diff && !c.fix {
		errs = append(errs, errors.New("-diff wants -fix"))
	}
	if c.update && c.baseline == "" {
		errs = append(errs, errors.New("-baseline-update wants -baseline=file"))
	}
	return errors.Join(errs...)
}

func (c *command) run() (int, error) {
	if err := c.check(); err != nil {
		return failure, err
	}
	switch {
	case c.listRules:
		for _, r := range vet.Rules() {
			fmt.Fprintf(c.stdout, "%s %-8s %-8s %-32s %s\n", r.ID, r.Profile, r.Severity, r.Name, r.Title)
		}
		return clean, nil
	case c.selfTest:
		return clean, selfTest(c.packages)
	case c.fix:
		return c.applyFixes()
	}
	// Once, here, rather than once for every package.
	if _, err := fileOptions("."); err != nil {
		return failure, err
	}
	findings, err := c.vet()
	if err != nil {
		return failure, err
	}
	shrinks := false
	if c.baseline != "" {
		if findings, shrinks, err = c.applyBaseline(findings); err != nil {
			return failure, err
		}
	}
	switch {
	case c.json:
		err = writeJSON(c.stdout, findings)
	case c.sarif:
		err = writeSARIF(c.stdout, findings)
	default:
		err = writeText(c.stdout, findings)
	}
	if err != nil {
		return failure, err
	}
	if len(findings) > 0 || shrinks {
		return found, nil
	}
	return clean, nil
}
