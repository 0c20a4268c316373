package vet

import (
	_ "embed"
	"strings"
)

// rulesText is the part of docs/vet.md that explains the rules. A test keeps the
// two equal; go:embed can not reach beyond its own folder.
//
//go:embed rules.md
var rulesText string

// RuleOf returns the rule with this ID, in either case, or false.
func RuleOf(id string) (Rule, bool) { return ruleByID(strings.ToUpper(id)) }

// Explain returns why the rule is there, an example that it reports and one that
// it does not, and the fix, as Markdown.
func (r Rule) Explain() string {
	_, text, found := strings.Cut("\n"+rulesText, "\n### "+r.ID+" "+r.Name+"\n")
	if !found {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n### ")
	return strings.TrimSpace(text) + "\n"
}
