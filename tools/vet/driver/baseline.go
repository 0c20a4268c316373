package driver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// A baseline is how many findings are tolerated, for each package and rule. It
// holds counts and not places, because places move with every edit. It may only
// shrink: a count that is too high is as much a failure as a finding too many,
// or else what was fixed could come back.
type baseline map[string]map[string]int

func readBaseline(name string) (baseline, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var b baseline
	if err := json.Unmarshal(data, &b); err != nil {
		return nil, fmt.Errorf("baseline %s: %w", name, err)
	}
	var errs []error
	for pkg, rules := range b {
		for rule, n := range rules {
			if n <= 0 {
				errs = append(errs, fmt.Errorf("baseline %s: %s: %s: count is %d, want 1 or more, or no entry", name, pkg, rule, n))
			}
		}
	}
	return b, errors.Join(errs...)
}

func (b baseline) write(name string) error {
	data, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(data, '\n'), 0o666)
}

func count(findings []Finding) baseline {
	b := make(baseline)
	for _, f := range findings {
		if b[f.Package] == nil {
			b[f.Package] = make(map[string]int)
		}
		b[f.Package][f.Rule]++
	}
	return b
}

// applyBaseline returns the findings that the baseline does not tolerate, and
// whether it should shrink. Which of three findings are the old two can not be
// told, so all three are returned.
func (c *command) applyBaseline(findings []Finding) ([]Finding, bool, error) {
	have := count(findings)
	base, err := readBaseline(c.baseline)
	if errors.Is(err, fs.ErrNotExist) && c.update {
		return nil, false, have.write(c.baseline)
	}
	if err != nil {
		return nil, false, err
	}
	checked, err := c.listPackages()
	if err != nil {
		return nil, false, err
	}
	stale := base.shrink(have, checked)
	if c.update {
		if err := base.write(c.baseline); err != nil {
			return nil, false, err
		}
		stale = nil
	}
	for _, s := range stale {
		fmt.Fprintf(c.errs, "%s: %s; shrink it with -baseline-update\n", c.baseline, s)
	}
	rest := slices.DeleteFunc(findings, func(f Finding) bool {
		return have[f.Package][f.Rule] <= base[f.Package][f.Rule]
	})
	return rest, len(stale) > 0, nil
}

// shrink lowers the counts of the packages that were checked to what was found,
// and says which it lowered. It never raises one.
func (b baseline) shrink(have baseline, checked []string) []string {
	var lowered []string
	for _, pkg := range checked {
		for rule, n := range b[pkg] {
			now := have[pkg][rule]
			if now >= n {
				continue
			}
			lowered = append(lowered, fmt.Sprintf("%s: %s: %d tolerated, %d found", pkg, rule, n, now))
			if b[pkg][rule] = now; now == 0 {
				delete(b[pkg], rule)
			}
		}
		if len(b[pkg]) == 0 {
			delete(b, pkg)
		}
	}
	slices.Sort(lowered)
	return lowered
}

// listPackages returns the packages that this run checks. One that it does not
// is not fixed either. It refuses packages that were downloaded: the go command
// may have them in its cache as dependencies, without findings.
func (c *command) listPackages() ([]string, error) {
	const format = `{{.ImportPath}} {{.Standard}} {{with .Module}}{{if .Replace}}{{.Replace.Version}}{{else}}{{.Version}}{{end}}{{end}}`
	args := []string{"list", "-f", format}
	if c.tags != "" {
		args = append(args, "-tags="+c.tags)
	}
	var errs bytes.Buffer
	cmd := exec.Command("go", append(args, c.packages...)...)
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, bytes.TrimSpace(errs.Bytes()))
	}
	var paths []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		if len(fields) == 3 || len(fields) == 2 && fields[1] == "true" {
			return nil, fmt.Errorf("%s is no package of this module, nor of a folder that replaces one: vet it in a checkout of its own", fields[0])
		}
		paths = append(paths, fields[0])
	}
	return paths, nil
}
