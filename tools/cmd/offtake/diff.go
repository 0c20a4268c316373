package main

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/change"
	"github.com/offtake-go/offtake/tools/simreport"
)

func diff(c *call, args []string) (int, error) {
	f := c.flags("diff")
	file := f.String("f", "", "the contract, where OLD or NEW is a git revision (default: the other one's, or offtake.yaml)")
	environment := f.String("env", "", "the one environment to compare (default: the files as they are, and each that changes otherwise)")
	format := f.String("format", "text", "text, json or markdown")
	simulated := f.Bool("simulate", false, "simulate both sides too, at the peak and with the degraded latency")
	failOnWorse := f.Bool("fail-on-worse", false, "exit with 1 if less can be carried than before")
	ends, err := c.parse(f, args)
	if err != nil {
		return exitBadInput, err
	}
	switch len(ends) {
	case 0: // what is not committed yet
		ends = []string{"HEAD", cmp.Or(*file, contractName)}
	case 2:
	default:
		return exitBadInput, fmt.Errorf("offtake diff: %s; two files or two git revisions would do, or none for what has changed since HEAD", count(len(ends), "argument"))
	}
	if *simulated && *format == "json" {
		return exitBadInput, errors.New("offtake diff: -simulate has no json; text or markdown would do")
	}
	files, err := readEnds(c.ctx, ends, *file)
	if err != nil {
		return exitBadInput, err
	}
	parts, err := compare(files, *environment)
	if err != nil {
		return exitBadInput, err
	}
	if err := c.printDiff(parts, *format); err != nil {
		return exitBadInput, err
	}
	if *simulated && parts[0].only == "" {
		if err := c.simulateDiff(parts[0].sides, *format == "markdown"); err != nil {
			return exitBadInput, err
		}
	}
	if *failOnWorse && slices.ContainsFunc(parts, part.worse) {
		return exitFindings, nil
	}
	return exitOK, nil
}

// A part is what is between two contracts in one environment; "" is none.
type part struct {
	environment string
	sides       [2]*contract.Contract
	*change.Diff

	// only says that one side alone has it: new or gone.
	only string
}

func (p part) worse() bool {
	return slices.ContainsFunc(p.Effects, func(e change.Effect) bool { return e.Worse })
}

// compare compares the environment that was asked for; without one the files as they
// are, and each environment that does not change in the same way. It is tempting to
// leave those to -env, but then a change of production alone is no change.
func compare(files [2]*contract.File, environment string) ([]part, error) {
	switch {
	case files[0] == nil:
		return []part{{environment: environment, Diff: &change.Diff{}, only: "new"}}, nil
	case files[1] == nil:
		return []part{{environment: environment, Diff: &change.Diff{}, only: "gone"}}, nil
	}
	first, err := comparePart(files, environment)
	if err != nil || environment != "" {
		return []part{first}, err
	}
	parts := []part{first}
	old, now := files[0].Environments(), files[1].Environments()
	all := slices.Concat(old, now)
	slices.Sort(all)
	for _, env := range slices.Compact(all) {
		switch {
		case !slices.Contains(old, env):
			parts = append(parts, part{environment: env, Diff: &change.Diff{}, only: "new"})
			continue
		case !slices.Contains(now, env):
			parts = append(parts, part{environment: env, Diff: &change.Diff{}, only: "gone"})
			continue
		}
		p, err := comparePart(files, env)
		if err != nil {
			return nil, err
		}
		if !reflect.DeepEqual(p.Diff, first.Diff) {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

func comparePart(files [2]*contract.File, environment string) (part, error) {
	p := part{environment: environment}
	for i, f := range files {
		var err error
		if p.sides[i], err = f.Contract(environment); err != nil {
			return p, err
		}
	}
	p.Diff = change.Compare(p.sides[0], p.sides[1])
	return p, nil
}

// simulateDiff prints what both sides do, as a table that markdown must not reflow.
func (c *call) simulateDiff(sides [2]*contract.Contract, fenced bool) error {
	fence := ""
	if fenced {
		fence = "```\n"
	}
	fmt.Fprintf(c.stdout, "\n%s", fence)
	err := simreport.Diff(c.ctx, sides[0], sides[1], c.stdout)
	fmt.Fprint(c.stdout, fence)
	return err
}
