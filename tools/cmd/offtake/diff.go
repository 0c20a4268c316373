package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/change"
	"github.com/offtake-go/offtake/tools/internal/plain"
	"github.com/offtake-go/offtake/tools/simreport"
)

func diff(c *call, args []string) (int, error) {
	f := c.flags("diff")
	file := f.String("f", "offtake.yaml", "the contract, where OLD and NEW are git revisions")
	environment := f.String("env", "", "the one environment to compare (default: the files as they are, and each that changes otherwise)")
	format := f.String("format", "text", "text, json or markdown")
	simulated := f.Bool("simulate", false, "simulate both sides too, at the peak and with the degraded latency")
	failOnWorse := f.Bool("fail-on-worse", false, "exit with 1 if less can be carried than before")
	ends, err := c.parse(f, args)
	if err != nil {
		return exitBadInput, err
	}
	if len(ends) != 2 {
		return exitBadInput, fmt.Errorf("offtake diff: %s; two files or two git revisions would do", count(len(ends), "argument"))
	}
	if *simulated && *format == "json" {
		return exitBadInput, errors.New("offtake diff: -simulate has no json; text or markdown would do")
	}
	var files [2]*contract.File
	for i, end := range ends {
		name, data, err := readEnd(c.ctx, end, *file)
		if err == nil {
			files[i], err = contract.Read(name, data)
		}
		if err != nil {
			return exitBadInput, err
		}
	}
	parts, err := compare(files, *environment)
	if err != nil {
		return exitBadInput, err
	}
	if err := c.printDiff(parts, *format); err != nil {
		return exitBadInput, err
	}
	if *simulated {
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

	// only says that one file alone has the environment, and which.
	only string
}

func (p part) worse() bool {
	return slices.ContainsFunc(p.Effects, func(e change.Effect) bool { return e.Worse })
}

// compare compares the environment that was asked for; without one the files as they
// are, and each environment that does not change in the same way. It is tempting to
// leave those to -env, but then a change of production alone is no change.
func compare(files [2]*contract.File, environment string) ([]part, error) {
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

// readEnd reads one side: a file, REVISION:PATH, or the file at a revision.
func readEnd(ctx context.Context, end, file string) (name string, data []byte, err error) {
	data, err = os.ReadFile(end)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return end, data, err
	}
	if strings.HasPrefix(end, "-") {
		return "", nil, fmt.Errorf("offtake diff: %q is neither a file nor a revision", end)
	}
	dir, object := ".", end
	if !strings.Contains(end, ":") {
		dir, object = filepath.Dir(file), end+":./"+filepath.Base(file)
	}
	var stderr bytes.Buffer
	git := exec.CommandContext(ctx, "git", "-C", dir, "show", object)
	git.Stderr = &stderr
	if data, err = git.Output(); err != nil {
		return "", nil, fmt.Errorf("offtake diff: %q is neither a file nor a git revision with %s: %s", end, file, strings.TrimSpace(stderr.String()))
	}
	return object, data, nil
}

func (c *call) printDiff(parts []part, format string) error {
	bullet := "  "
	switch format {
	case "json":
		return c.printJSON(jsonDiff(parts))
	case "markdown":
		bullet = "- "
	case "text":
	default:
		return fmt.Errorf("offtake diff: format %q is not known; text, json or markdown would do", format)
	}
	for i, p := range parts {
		if i > 0 {
			fmt.Fprintf(c.stdout, "\nin the environment %s: ", p.environment)
		}
		c.printPart(p, bullet, i > 0 && slices.EqualFunc(p.Changes, parts[0].Changes, change.Change.Same))
	}
	return nil
}

// printPart leaves out changes that have been printed.
func (c *call) printPart(p part, bullet string, printed bool) {
	switch {
	case p.only != "":
		fmt.Fprintln(c.stdout, p.only)
		return
	case printed && len(p.Changes) > 0 && len(p.Effects) == 0:
		fmt.Fprintln(c.stdout, "the same changes, to no effect")
	case printed && len(p.Changes) > 0:
		fmt.Fprintln(c.stdout, "the same changes")
	case len(p.Changes) == 0:
		fmt.Fprintln(c.stdout, "no change")
		return
	case p.Capacity():
		fmt.Fprint(c.stdout, "CAPACITY CHANGE\n\n")
	default:
		fmt.Fprint(c.stdout, "no capacity change\n\n")
	}
	for _, ch := range p.Changes {
		if !printed {
			c.printChange(ch, bullet, len(p.Changes) > 1)
		}
	}
	for _, e := range p.Effects {
		c.printEffect(e, bullet)
	}
}

// printChange prints one change, and what it does alone where there are others.
func (c *call) printChange(ch change.Change, bullet string, others bool) {
	mark := ""
	if ch.Capacity {
		mark = " (capacity)"
	}
	fmt.Fprintf(c.stdout, "%s%s: %s -> %s%s\n", bullet, ch.Path, orNone(plain.Text(ch.Old)), orNone(plain.Text(ch.New)), mark)
	if !others {
		return
	}
	for _, e := range ch.Alone {
		text := e.New.AtPeak()
		if slow := e.New.AtDegraded(); slow != "" {
			text += "; degraded, " + slow
		}
		fmt.Fprintf(c.stdout, "  %salone, %s: %s\n", bullet, e.Upstream, text)
	}
}

func (c *call) printEffect(e change.Effect, bullet string) {
	verdict := ""
	if e.Worse {
		verdict = ": less can be carried than before"
	}
	fmt.Fprintf(c.stdout, "\n%s%s\n", e.Upstream, verdict)
	fmt.Fprintf(c.stdout, "%sat peak:  %s\n%sbefore:   %s\n", bullet, e.New.AtPeak(), bullet, e.Old.AtPeak())
	if now := e.New.AtDegraded(); now != "" {
		fmt.Fprintf(c.stdout, "%sdegraded: %s\n%sbefore:   %s\n", bullet, now, bullet, orNone(e.Old.AtDegraded()))
	}
	if now, was := e.New.Bounds(), e.Old.Bounds(); now != was && e.New != (change.Sizes{}) && e.Old != (change.Sizes{}) {
		fmt.Fprintf(c.stdout, "%sa call:   %s\n%sbefore:   %s\n", bullet, now, bullet, was)
	}
	if e.New.Infeasible {
		fmt.Fprintf(c.stdout, "%sthe demand is INFEASIBLE; offtake plan says why\n", bullet)
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

func jsonDiff(parts []part) any {
	type side struct {
		Places   int    `json:"places"`
		AtPeak   string `json:"atPeak"`
		Degraded string `json:"degraded,omitempty"`
	}
	type effect struct {
		Upstream string `json:"upstream"`
		Worse    bool   `json:"worse"`
		Old      side   `json:"old"`
		New      side   `json:"new"`
	}
	type changed struct {
		Path     string `json:"path"`
		Old      string `json:"old"`
		New      string `json:"new"`
		Capacity bool   `json:"capacity"`

		Alone []effect `json:"alone,omitempty"`
	}
	type diff struct {
		Capacity bool      `json:"capacity"`
		Changes  []changed `json:"changes"`
		Effects  []effect  `json:"effects"`

		Only         string          `json:"only,omitempty"`
		Environments map[string]diff `json:"environments,omitempty"`
	}
	effects := func(all []change.Effect) []effect {
		list := []effect{}
		for _, e := range all {
			list = append(list, effect{
				e.Upstream, e.Worse, side{e.Old.Places, e.Old.AtPeak(), e.Old.AtDegraded()}, side{e.New.Places, e.New.AtPeak(), e.New.AtDegraded()},
			})
		}
		return list
	}
	of := func(p part) diff {
		d := diff{Capacity: p.Capacity(), Changes: []changed{}, Effects: effects(p.Effects), Only: p.only}
		for _, ch := range p.Changes {
			d.Changes = append(d.Changes, changed{ch.Path, ch.Old, ch.New, ch.Capacity, effects(ch.Alone)})
		}
		return d
	}
	out := of(parts[0])
	for _, p := range parts[1:] {
		if out.Environments == nil {
			out.Environments = map[string]diff{}
		}
		out.Environments[p.environment] = of(p)
	}
	return out
}
