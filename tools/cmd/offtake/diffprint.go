package main

import (
	"fmt"
	"slices"

	"github.com/offtake-go/offtake/tools/check/change"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

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
		switch {
		case i == 0 && p.only != "":
			fmt.Fprint(c.stdout, "the contract is ")
		case i > 0:
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
