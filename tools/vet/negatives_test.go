package vet_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// What an analyzer must not report is what it is judged by. So every rule of the
// profile bugs has a folder testdata/src/<rule>, in which the functions without
// a report are at least three times those with one.
func TestNegativesAreThreeTimesThePositives(t *testing.T) {
	for _, dir := range []string{"ot101", "ot102", "ot104", "ot202", "ot206", "ot301", "ot302", "ot402", "ot501", "ot601/b", "ot701", "../own/ot801"} {
		positives, negatives := countFunctions(t, filepath.Join("testdata/src", dir))
		if positives == 0 || negatives < 3*positives {
			t.Errorf("testdata/src/%s has %d functions with a report and %d without, want at least one, and three times as many", dir, positives, negatives)
		}
	}
}

func countFunctions(t *testing.T, dir string) (positives, negatives int) {
	t.Helper()
	fset := token.NewFileSet()
	names, err := filepath.Glob(dir + "/*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if wantsReport(f, fn) {
				positives++
			} else {
				negatives++
			}
		}
	}
	return positives, negatives
}

func wantsReport(f *ast.File, fn *ast.FuncDecl) bool {
	for _, group := range f.Comments {
		if group.Pos() > fn.Pos() && group.End() < fn.End() && strings.Contains(group.Text(), "want `OT") {
			return true
		}
	}
	return false
}
