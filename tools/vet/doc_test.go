package vet_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/offtake-go/offtake/tools/vet"
)

const docFile = "../../docs/vet.md"

// An example is one block of Go in the documentation.
type example struct {
	rule string
	good bool
	code string
}

// The documentation shows, for every rule, code that it reports and code that it
// does not, and both are what the analyzer says.
func TestDocumentedExamplesAreWhatTheAnalyzerSays(t *testing.T) {
	text, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	examples := readExamples(string(text))
	for _, r := range vet.Rules() {
		for _, good := range []bool{false, true} {
			if !slices.ContainsFunc(examples, func(e example) bool { return e.rule == r.ID && e.good == good }) {
				t.Errorf("%s has no example of %s with good = %t", docFile, r.ID, good)
			}
		}
		heading, row := "\n### "+r.ID+" "+r.Name+"\n", fmt.Sprintf("| [%s](#%s) | %s | ", r.ID, strings.SplitN(r.URL(), "#", 2)[1], r.Name)
		if !strings.Contains(string(text), heading) || !strings.Contains(string(text), row) {
			t.Errorf("%s lacks the heading or the row of %s %s, to which its URL points", docFile, r.ID, r.Name)
		}
	}

	dir := realModule(t)
	var paths []string
	for i, e := range examples {
		path := fmt.Sprintf("doc/x%d", i)
		paths = append(paths, "./"+path)
		writeFile(t, filepath.Join(dir, path, "x.go"), withImports(e.code))
	}
	a := newAnalyzer(t, &vet.Options{Profiles: []string{"strict", "advice"}})
	for _, result := range analysistest.Run(deaf{}, dir, a, paths...) {
		var i int
		if _, err := fmt.Sscanf(result.Pass.Pkg.Path(), "user.example/doc/x%d", &i); err != nil {
			t.Fatal(err)
		}
		for _, err := range result.Action.Package.Errors {
			t.Errorf("example of %s: %v\n%s", examples[i].rule, err, examples[i].code)
		}
		if result.Err != nil {
			t.Errorf("example of %s: %v", examples[i].rule, result.Err)
		}
		var ids []string
		for _, d := range result.Diagnostics {
			ids = append(ids, d.Category)
		}
		if e := examples[i]; slices.Contains(ids, e.rule) == e.good {
			t.Errorf("example of %s with good = %t is reported as %v\n%s", e.rule, e.good, ids, e.code)
		}
	}
}

// deaf is a test that hears no mistakes: examples have no expectations in them.
type deaf struct{}

func (deaf) Errorf(string, ...any) {}

func readExamples(text string) []example {
	var all []example
	for section := range strings.SplitSeq(text, "\n### ") {
		rule, _, _ := strings.Cut(section, " ")
		for _, kind := range []string{"Bad", "Good"} {
			if _, after, ok := strings.Cut(section, "\n"+kind+":\n\n```go\n"); ok {
				code, _, _ := strings.Cut(after, "\n```")
				all = append(all, example{rule, kind == "Good", code})
			}
		}
	}
	return all
}

// withImports makes a file of declarations, importing what they mention.
func withImports(code string) string {
	known := []string{
		"context", "crypto/tls", "io", "net", "net/http", "net/http/httputil", "net/url", "time",
		"google.golang.org/grpc", "github.com/hashicorp/go-retryablehttp", "user.example/clients",
		"github.com/offtake-go/offtake/admission", "github.com/offtake-go/offtake/capacity",
		"github.com/offtake-go/offtake/grpcclient", "github.com/offtake-go/offtake/httpclient",
	}
	var b strings.Builder
	b.WriteString("package doc\n\n")
	for _, path := range known {
		name := strings.TrimPrefix(filepath.Base(path), "go-")
		if regexp.MustCompile(`\b` + name + `\.[A-Z]`).MatchString(code) {
			fmt.Fprintf(&b, "import %q\n", path)
		}
	}
	return b.String() + "\n" + code + "\n"
}
