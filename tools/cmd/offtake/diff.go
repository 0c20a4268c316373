package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/change"
	"github.com/offtake-go/offtake/tools/internal/plain"
	"github.com/offtake-go/offtake/tools/simreport"
)

func diff(c *call, args []string) (int, error) {
	f := c.flags("diff")
	file := f.String("f", "offtake.yaml", "the contract, where OLD and NEW are git revisions")
	environment := f.String("env", "", "the environment of the contract")
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
	var sides [2]*contract.Contract
	for i, end := range ends {
		name, data, err := readEnd(c.ctx, end, *file)
		if err == nil {
			sides[i], err = contract.Parse(name, data, *environment)
		}
		if err != nil {
			return exitBadInput, err
		}
	}
	d := change.Compare(sides[0], sides[1])
	if err := c.printDiff(d, *format); err != nil {
		return exitBadInput, err
	}
	if *simulated {
		if err := c.simulateDiff(sides, *format == "markdown"); err != nil {
			return exitBadInput, err
		}
	}
	if *failOnWorse && worse(d) {
		return exitFindings, nil
	}
	return exitOK, nil
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

func worse(d *change.Diff) bool {
	for _, e := range d.Effects {
		if e.Worse {
			return true
		}
	}
	return false
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
	object := end
	if !strings.Contains(end, ":") {
		object = end + ":./" + file
	}
	var stderr bytes.Buffer
	git := exec.CommandContext(ctx, "git", "show", object)
	git.Stderr = &stderr
	if data, err = git.Output(); err != nil {
		return "", nil, fmt.Errorf("offtake diff: %q is neither a file nor a git revision with %s: %s", end, file, strings.TrimSpace(stderr.String()))
	}
	return object, data, nil
}

func (c *call) printDiff(d *change.Diff, format string) error {
	switch format {
	case "json":
		return c.printJSON(jsonDiff(d))
	case "text", "markdown":
	default:
		return fmt.Errorf("offtake diff: format %q is not known; text, json or markdown would do", format)
	}
	if len(d.Changes) == 0 {
		fmt.Fprintln(c.stdout, "no change")
		return nil
	}
	bullet := "  "
	if format == "markdown" {
		bullet = "- "
	}
	kind := "no capacity change"
	if d.Capacity() {
		kind = "CAPACITY CHANGE"
	}
	fmt.Fprintf(c.stdout, "%s\n\n", kind)
	for _, ch := range d.Changes {
		c.printChange(ch, bullet, len(d.Changes) > 1)
	}
	for _, e := range d.Effects {
		c.printEffect(e, bullet)
	}
	return nil
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

func jsonDiff(d *change.Diff) any {
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
	out := struct {
		Capacity bool      `json:"capacity"`
		Changes  []changed `json:"changes"`
		Effects  []effect  `json:"effects"`
	}{Capacity: d.Capacity(), Changes: []changed{}, Effects: []effect{}}
	effects := func(all []change.Effect) []effect {
		list := []effect{}
		for _, e := range all {
			list = append(list, effect{
				e.Upstream, e.Worse, side{e.Old.Places, e.Old.AtPeak(), e.Old.AtDegraded()}, side{e.New.Places, e.New.AtPeak(), e.New.AtDegraded()},
			})
		}
		return list
	}
	for _, ch := range d.Changes {
		out.Changes = append(out.Changes, changed{ch.Path, ch.Old, ch.New, ch.Capacity, effects(ch.Alone)})
	}
	out.Effects = effects(d.Effects)
	return out
}
