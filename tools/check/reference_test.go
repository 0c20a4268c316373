package check_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/offtake-go/offtake/tools/check"
)

func TestReferenceListsEveryRule(t *testing.T) {
	var b strings.Builder
	b.WriteString("| rule | severity | breaks when | because | needs |\n|---|---|---|---|---|\n")
	for _, r := range check.Rules() {
		fmt.Fprintf(&b, "| **%s** %s | %v | %s | %s | %s |\n", r.ID, r.Title, r.Severity, r.Breaks, r.Source, r.Needs)
	}
	const path = "../../docs/check.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-run Reference -update -->\n", "<!-- end of rules -->"
	head, rest, ok := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the rules", path)
	}
	want := []byte(head + begin + b.String() + end + tail)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(doc, want) {
		t.Errorf("%s does not list the rules as they are; -update writes them anew", path)
	}
}
