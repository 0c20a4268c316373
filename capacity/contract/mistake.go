package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Mistake is one place of a file that can not stand. Reading returns all of them
// at once, joined and in the order of the file.
type Mistake struct {
	// Position is where the file has it, or the mapping in which it is missing.
	Position

	// Path is the key with those around it: upstreams.card-processor.rate.
	Path string

	// Problem says what was found, and a value that would do.
	Problem string
}

// A Position is a place in a file, counted from 1.
type Position struct {
	File         string
	Line, Column int
}

// String writes file:line:column.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

func (m *Mistake) Error() string {
	if m.Path == "" {
		return fmt.Sprintf("%v: %s", m.Position, m.Problem)
	}
	return fmt.Sprintf("%v: %s: %s", m.Position, m.Path, m.Problem)
}

// mistakes collects them; the same one is kept once, since an overlay is read
// alone and on top of the base.
type mistakes []*Mistake

func (ms *mistakes) add(m *Mistake) {
	if !slices.ContainsFunc(*ms, func(o *Mistake) bool { return *o == *m }) {
		*ms = append(*ms, m)
	}
}

func (ms mistakes) err() error {
	slices.SortStableFunc(ms, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	errs := make([]error, len(ms))
	for i, m := range ms {
		errs[i] = m
	}
	return errors.Join(errs...)
}

// Nearest returns the candidate that needs the fewest edits to become word, or ""
// if none is near: more than a third of it would have to change. Then it is the only
// one that begins like it, as retries does for retry. It is what a reader
// of other files beside this one can ask its users whether they meant.
func Nearest(word string, candidates []string) string {
	best, least := "", len(word)/3+2
	for _, c := range candidates {
		if d := edits(word, c, least); d < least {
			best, least = c, d
		}
	}
	if best != "" || len(word) < 4 {
		return best
	}
	for _, c := range candidates {
		if begin := word[:len(word)-1]; strings.HasPrefix(c, begin) {
			if best != "" {
				return ""
			}
			best = c
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b, or at least bound if it is no less.
func edits(a, b string, bound int) int {
	if len(a)-len(b) >= bound || len(b)-len(a) >= bound {
		return bound
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i]|0x20 == b[j]|0x20 { // the case of a letter is no edit
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
