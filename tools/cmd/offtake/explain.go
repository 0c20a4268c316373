package main

import (
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/offtake-go/offtake/tools/check"
	codevet "github.com/offtake-go/offtake/tools/vet"
)

func explain(c *call, args []string) (int, error) {
	ids, err := c.parse(c.flags("explain"), args)
	if err != nil {
		return exitBadInput, err
	}
	if len(ids) == 0 {
		w := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
		for _, r := range slices.Concat(check.Rules(), check.InputRules(), check.NetworkRules()) {
			fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Severity, r.Title)
		}
		for _, r := range codevet.Rules() {
			fmt.Fprintf(w, "%s\t%s\t%s\n", r.ID, r.Severity, r.Title)
		}
		return exitOK, w.Flush()
	}
	for _, id := range ids {
		if r, ok := codevet.RuleOf(id); ok {
			fmt.Fprintf(c.stdout, "%s %s (%s, profile %s)\n%s\n\n%s", r.ID, r.Title, r.Severity, r.Profile, r.URL(), r.Explain())
			continue
		}
		r, ok := check.RuleOf(id)
		if !ok {
			return exitBadInput, fmt.Errorf("offtake explain: there is no rule %q; offtake explain lists those of the check, offtake vet -rules those of Go code", id)
		}
		if err := c.explainRule(r); err != nil {
			return exitBadInput, err
		}
	}
	return exitOK, nil
}

func (c *call) explainRule(r check.Rule) error {
	fmt.Fprintf(c.stdout, "%s %s (%s)\n  breaks when  %s\n  because      %s\n  needs        %s\n", r.ID, r.Title, r.Severity, r.Breaks, r.Source, r.Needs)
	examples, err := r.Examples()
	if err != nil {
		return err
	}
	for _, e := range examples {
		verdict := "breaks"
		if e.Holds {
			verdict = "holds "
		}
		fmt.Fprintf(c.stdout, "  %s       %s: %s\n", verdict, e.Name, e.Evidence)
		if e.Remedy != "" {
			fmt.Fprintf(c.stdout, "               would do: %s\n", e.Remedy)
		}
	}
	return nil
}
