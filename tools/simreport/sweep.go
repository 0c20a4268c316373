package simreport

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/offtake-go/offtake/capacity/simulate"
	"github.com/offtake-go/offtake/capacity/simulate/scenario"
)

// A Sweep is one setting over several values, all else equal.
type Sweep struct {
	Key    string // the whole path
	Values []string
	Rows   [][]*simulate.Result // one for each value, with one result for each seed

	scenarios []simulate.Scenario // one for each value
}

// maxValues bounds the grid: a chart can not show more.
const maxValues = 100

// parseSweep reads KEY=10..100/10, KEY=1s..5s/500ms or KEY=a,b,c. KEY is a path of
// keys, or its last part if there is only one that ends so.
func parseSweep(s string) (*Sweep, error) {
	key, list, ok := strings.Cut(s, "=")
	if !ok || key == "" || list == "" {
		return nil, fmt.Errorf("sweep %q has no values; maxEjectionPercent=10..100/10 would do", s)
	}
	path, err := findKey(key)
	if err != nil {
		return nil, err
	}
	values, err := parseValues(list)
	if err != nil {
		return nil, err
	}
	return &Sweep{Key: path, Values: values}, nil
}

// findKey returns the path of the key that is meant.
func findKey(key string) (string, error) {
	var matches []string
	all := keys("", reflect.TypeFor[scenario.File]())
	for _, path := range all {
		if path == key {
			return path, nil
		}
		if strings.HasSuffix(path, "."+key) {
			matches = append(matches, path)
		}
	}
	switch len(matches) {
	case 0:
		return "", fmt.Errorf("sweep: no key %q; one of %s would do", key, strings.Join(all, ", "))
	case 1:
		return matches[0], nil
	}
	return "", fmt.Errorf("sweep: %q may be any of %s; the whole path would do", key, strings.Join(matches, ", "))
}

// keys lists the paths of all single values of a type.
func keys(prefix string, t reflect.Type) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		key := keyOf(f)
		if prefix != "" {
			key = prefix + "." + key
		}
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case key == "contract" || key == "name" || key == "about" || key == "seeds" || of.Kind() == reflect.Slice:
		case of.Kind() == reflect.Struct:
			all = append(all, keys(key, of)...)
		default:
			all = append(all, key)
		}
	}
	return all
}

func parseValues(list string) ([]string, error) {
	quantity := `([0-9]+(?:\.[0-9]+)?)([a-z%]*)`
	m := regexp.MustCompile(`^` + quantity + `\.\.` + quantity + `/` + quantity + `$`).FindStringSubmatch(list)
	if m == nil {
		values := strings.Split(list, ",")
		if slices.Contains(values, "") || len(values) > maxValues || strings.Contains(list, "..") {
			return nil, fmt.Errorf("sweep: %q is neither a range nor a list; 10..100/10 would do, or 1s,2s,5s", list)
		}
		return values, nil
	}
	from, to, step := number(m[1]), number(m[3]), number(m[5])
	if m[2] != m[4] || m[2] != m[6] {
		return nil, fmt.Errorf("sweep: %q has different units; one for all would do", list)
	}
	if step <= 0 || to < from || (to-from)/step >= maxValues {
		return nil, fmt.Errorf("sweep: %q is not a range of up to %d steps upwards; 10..100/10 would do", list, maxValues)
	}
	var values []string
	for i := 0; from+float64(i)*step <= to*(1+1e-12); i++ {
		values = append(values, strconv.FormatFloat(from+float64(i)*step, 'g', 12, 64)+m[2])
	}
	return values, nil
}

// number parses what the pattern has matched.
func number(digits string) float64 {
	x, _ := strconv.ParseFloat(digits, 64)
	return x
}

// overlay is a document that sets the key to value.
func (s *Sweep) overlay(value string) []byte {
	var b strings.Builder
	parts := strings.Split(s.Key, ".")
	for i, part := range parts {
		fmt.Fprintf(&b, "%s%s:", strings.Repeat(" ", i), part)
		if i < len(parts)-1 {
			b.WriteByte('\n')
		}
	}
	fmt.Fprintf(&b, " %s\n", value)
	return []byte(b.String())
}

// load reads the scenario at path with each value. It returns the mistakes of all.
func (s *Sweep) load(path string) error {
	var errs []error
	for _, value := range s.Values {
		f, err := scenario.Load(path, s.overlay(value))
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep: %s=%s: %w", s.Key, value, err))
			continue
		}
		s.scenarios = append(s.scenarios, f.Scenario())
	}
	return errors.Join(errs...)
}

// writeSweep writes a table of the sweep.
func writeSweep(w io.Writer, s *Sweep, base *scenario.File) {
	rows := make([]*Played, len(s.Rows))
	for i, results := range s.Rows {
		rows[i] = &Played{File: base, Results: results}
	}
	fmt.Fprintf(w, "\n%s\n\n", s.Key)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	some := sweepFigures(rows)
	fmt.Fprint(table, "  ")
	for _, f := range some {
		fmt.Fprintf(table, "\t%s", f.name)
	}
	fmt.Fprintln(table)
	for i, row := range rows {
		fmt.Fprintf(table, "  %s", s.Values[i])
		for _, f := range some {
			fmt.Fprintf(table, "\t%s", f.text(row))
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // what w says is said when the whole is written
}

// sweepFigures are the share of calls that failed and the three figures that tell
// the rows apart best: those that differ most between them, for their size.
func sweepFigures(rows []*Played) []figure {
	contrast := func(f figure) float64 {
		least, most := math.Inf(1), 0.0
		for _, row := range rows {
			mean := simulate.Over(row.Results, f.of).Mean
			least, most = min(least, mean), max(most, mean)
		}
		return (most - least) / max(most, math.SmallestNonzeroFloat64)
	}
	all := shown(rows)
	rest := all[1:]
	slices.SortStableFunc(rest, func(a, b figure) int { return cmp.Compare(contrast(b), contrast(a)) })
	return all[:min(len(all), 4)]
}
