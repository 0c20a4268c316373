package driver

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/offtake-go/offtake/tools/vet"
)

// A Finding is one report, as -json prints it.
type Finding struct {
	Rule     string       `json:"rule"`
	Name     string       `json:"name"`
	Profile  vet.Profile  `json:"profile"`
	Severity vet.Severity `json:"severity"`
	Package  string       `json:"package"`

	// File is relative to the working directory, with slashes, where it lies
	// below it.
	File string `json:"file"`

	// Lines and columns count from 1, columns in bytes; 0 is unknown, as a column
	// is below a //line directive without one. The end is exclusive.
	Line      int `json:"line"`
	Column    int `json:"column"`
	EndLine   int `json:"endLine"`
	EndColumn int `json:"endColumn"`

	// Message starts with the rule.
	Message string `json:"message"`
	URL     string `json:"url"`

	fixable bool
}

// goVet returns the go vet command that runs this program as its tool.
func (c *command) goVet(flags ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append([]string{"vet", "-vettool=" + self}, flags...)
	if c.tags != "" {
		args = append(args, "-tags="+c.tags)
	}
	args = append(args, c.analyzer...)
	args = append(args, c.packages...)
	return exec.Command("go", args...), nil
}

// vet runs the analyzer on the packages. An error means that some of them could
// not be checked; then the findings of the others would look like all there is.
func (c *command) vet() ([]Finding, error) {
	// The tool reports on imported packages too, see keepFindings.
	checked, err := c.listPackages()
	if err != nil {
		return nil, err
	}
	cmd, err := c.goVet("-json")
	if err != nil {
		return nil, err
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go vet: %w\n%s", err, bytes.TrimSpace(errs.Bytes()))
	}
	all, err := decode(&out)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(f Finding) bool {
		return !slices.Contains(checked, strings.TrimSuffix(f.Package, "_test"))
	}), nil
}

// applyFixes lets go vet do what it does well: merge the fixes of all
// packages, tidy imports, format.
func (c *command) applyFixes() (int, error) {
	flags := []string{"-fix"}
	if c.diff {
		flags = append(flags, "-diff")
	}
	cmd, err := c.goVet(flags...)
	if err != nil {
		return failure, err
	}
	cmd.Stdout, cmd.Stderr = c.stdout, c.errs
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && c.diff && exit.ExitCode() == 1 {
		return found, nil
	}
	if err != nil {
		return failure, err
	}
	if c.diff {
		return clean, nil
	}
	return c.reportUnfixed()
}

// reportUnfixed names what has a fix that go vet did not apply and did not speak
// of: it leaves alone what cgo or a generator wrote, which a hand-written file
// with an import of C is to it too.
func (c *command) reportUnfixed() (int, error) {
	findings, err := c.vet()
	if err != nil {
		return failure, err
	}
	rest := slices.DeleteFunc(findings, func(f Finding) bool { return !f.fixable })
	if len(rest) == 0 {
		return clean, nil
	}
	fmt.Fprintf(c.errs, "offtakevet: %d fixes could not be applied, as these files go through cgo or another generator, or two fixes met; change them by hand, or run -fix again:\n", len(rest))
	return found, writeText(c.stdout, rest)
}

// decode reads what go vet -json prints: an object for each package, by
// package and analyzer.
func decode(r io.Reader) ([]Finding, error) {
	var all []Finding
	dec := json.NewDecoder(r)
	for {
		var tree map[string]map[string]json.RawMessage
		err := dec.Decode(&tree)
		if err == io.EOF {
			return order(all), nil
		}
		if err != nil {
			return nil, fmt.Errorf("go vet -json: %w", err)
		}
		for id, byAnalyzer := range tree {
			pkg, _, _ := strings.Cut(id, " ") // "p [p.test]"
			for name, raw := range byAnalyzer {
				got, err := decodePackage(pkg, raw)
				if err != nil {
					return nil, fmt.Errorf("%s: %s: %w", id, name, err)
				}
				all = append(all, got...)
			}
		}
	}
}

func decodePackage(pkg string, raw json.RawMessage) ([]Finding, error) {
	var failed struct{ Error string }
	if json.Unmarshal(raw, &failed) == nil && failed.Error != "" {
		return nil, errors.New(failed.Error)
	}
	var diagnostics []struct {
		Category, Posn, End, Message string
		Fixes                        []json.RawMessage `json:"suggested_fixes"`
	}
	if err := json.Unmarshal(raw, &diagnostics); err != nil {
		return nil, err
	}
	rules := vet.Rules()
	var findings []Finding
	for _, d := range diagnostics {
		f := Finding{Rule: d.Category, Package: pkg, Message: d.Message, fixable: len(d.Fixes) > 0}
		if i := slices.IndexFunc(rules, func(r vet.Rule) bool { return r.ID == d.Category }); i >= 0 {
			r := rules[i]
			f.Name, f.Profile, f.Severity, f.URL = r.Name, r.Profile, r.Severity, r.URL()
		}
		f.File, f.Line, f.Column = position(d.Posn)
		if _, f.EndLine, f.EndColumn = position(d.End); f.EndLine == 0 {
			f.EndLine, f.EndColumn = f.Line, f.Column
		}
		findings = append(findings, f)
	}
	return findings, nil
}

// position splits file:line:column from the right: a file's name may hold
// colons. A //line directive may leave the column out, or a place altogether;
// what is missing is 0. A finding is never lost for its place.
func position(s string) (file string, line, column int) {
	file = s
	if rest, n, ok := cutNumber(s); ok {
		file, line = rest, n
		if rest, n, ok := cutNumber(rest); ok {
			file, line, column = rest, n, line
		}
	}
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, file); err == nil && filepath.IsLocal(rel) {
			file = rel
		}
	}
	return filepath.ToSlash(file), line, column
}

func cutNumber(s string) (before string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

// order sorts findings by place, and drops those that a package and its test
// variant both have.
func order(all []Finding) []Finding {
	slices.SortFunc(all, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(all, func(a, b Finding) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
}

func writeText(w io.Writer, findings []Finding) error {
	for _, f := range findings {
		place := filepath.FromSlash(f.File)
		for _, n := range []int{f.Line, f.Column} {
			if n > 0 {
				place += ":" + strconv.Itoa(n)
			}
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", place, f.Message); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(w io.Writer, findings []Finding) error {
	if findings == nil {
		findings = []Finding{} // "findings": null would be one more case for readers
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(map[string][]Finding{"findings": findings})
}
