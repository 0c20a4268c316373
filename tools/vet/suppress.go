package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strings"

	"golang.org/x/tools/go/analysis"
)

const (
	allowPrefix   = "//offtake:allow"
	factoryPrefix = "//offtake:factory"

	// minReason is how many letters a reason has at least. Shorter ones ("ok",
	// "legacy") say nothing to whoever reads them next.
	minReason = 8
)

// A suppression is one //offtake:allow comment: on the line it speaks about, on
// the line above, or in the doc comment of a declaration. There is no form for
// all rules, nor for a file: those are never cleaned up.
type suppression struct {
	comment  *ast.Comment
	ids      []string
	from, to int // lines
	file     *token.File
	used     map[string]bool
}

// readSuppressions parses the comments of the files that are reported on, and
// reports those that can not be read.
func (p *pass) readSuppressions() {
	for _, c := range p.reported {
		f := c.Node().(*ast.File)
		docs := declDocs(f)
		for _, group := range f.Comments {
			for _, comment := range group.List {
				rest, ok := directive(comment, allowPrefix)
				if !ok {
					p.checkSpelling(comment)
					continue
				}
				ids := p.parseAllow(comment, rest)
				if len(ids) == 0 {
					continue
				}
				file := p.Fset.File(comment.Pos())
				line := file.Line(comment.Pos())
				s := &suppression{comment: comment, ids: ids, file: file, from: line, to: line + 1, used: make(map[string]bool)}
				if decl, ok := docs[group]; ok {
					s.to = file.Line(decl.End())
				} else if end := file.Line(group.End()); end > line {
					s.to = end + 1
				}
				p.suppressions = append(p.suppressions, s)
			}
		}
	}
	if comment, ok := p.factoryComment(); ok {
		rest, _ := directive(comment, factoryPrefix)
		if _, reason := cutReason(rest); len(reason) < minReason {
			p.report("OT001", comment, nil, "a factory needs a reason: //offtake:factory -- why clients are built here")
		}
	}
}

// hasDirective reports whether a package that no rule could speak about has
// comments that some rule was once told to heed.
func hasDirective(files []*ast.File) bool {
	for _, f := range files {
		for _, group := range f.Comments {
			for _, c := range group.List {
				if likeDirective.MatchString(c.Text) {
					return true
				}
			}
		}
	}
	return false
}

// likeDirective matches what looks like a directive of ours, well spelt or not.
// Prose has a space after the colon.
var likeDirective = regexp.MustCompile(`(?i)^//\s*off-?take\s*:([a-z]\w*)`)

// checkSpelling reports a comment that only looks like a directive: it allows
// nothing, and its author believes that it does.
func (p *pass) checkSpelling(c *ast.Comment) {
	if !likeDirective.MatchString(c.Text) {
		return
	}
	if _, ok := directive(c, factoryPrefix); ok {
		return
	}
	p.report("OT003", c, nil, "%q is no directive, want //offtake:allow OT101 -- reason, or //offtake:factory -- reason, without a space after //", strings.Fields(strings.TrimPrefix(c.Text, "//"))[0])
}

// directive returns what follows the prefix in a comment that starts with it.
func directive(c *ast.Comment, prefix string) (string, bool) {
	rest, ok := strings.CutPrefix(c.Text, prefix)
	return rest, ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

func cutReason(text string) (before, reason string) {
	before, reason, _ = strings.Cut(text, "--")
	return strings.TrimSpace(before), strings.TrimSpace(reason)
}

// parseAllow returns the rules that a comment allows, and reports all that is
// wrong with it. A comment with a mistake allows nothing.
func (p *pass) parseAllow(c *ast.Comment, rest string) []string {
	list, reason := cutReason(rest)
	ids, bad := parseIDs(list)
	for _, problem := range bad {
		p.report("OT003", c, nil, "%s, want //offtake:allow OT101 -- reason", problem)
	}
	if len(reason) < minReason {
		p.report("OT001", c, nil, "a suppression needs a reason of %d letters or more: %s %s -- why this is right here", minReason, allowPrefix, list)
		return nil
	}
	if len(bad) > 0 {
		return nil
	}
	return ids
}

// parseIDs reads a list of rule IDs separated by commas.
func parseIDs(list string) (ids, problems []string) {
	if list == "" {
		return nil, []string{"no rule is named"}
	}
	for id := range strings.SplitSeq(list, ",") {
		id = strings.TrimSpace(id)
		rule, ok := ruleByID(id)
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("no rule %q", id))
		case rule.Profile == Meta:
			problems = append(problems, id+" can not be suppressed")
		default:
			ids = append(ids, id)
		}
	}
	return ids, problems
}

// declDocs maps the doc comments of a file to what they document.
func declDocs(f *ast.File) map[*ast.CommentGroup]ast.Node {
	docs := make(map[*ast.CommentGroup]ast.Node)
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			docs[d.Doc] = d
		case *ast.GenDecl:
			docs[d.Doc] = d
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.ValueSpec:
					docs[s.Doc] = s
				case *ast.TypeSpec:
					docs[s.Doc] = s
				}
			}
		}
	}
	delete(docs, nil)
	return docs
}

// suppressed reports whether a comment allows f, and notes that it did.
func (p *pass) suppressed(f finding) bool {
	if f.rule.Profile == Meta {
		return false
	}
	file := p.Fset.File(f.rng.Pos())
	if file == nil {
		return false
	}
	line, allowed := file.Line(f.rng.Pos()), false
	for _, s := range p.suppressions {
		for _, id := range s.ids {
			if id == f.rule.ID && s.file == file && s.from <= line && line <= s.to {
				s.used[id] = true
				allowed = true
			}
		}
	}
	return allowed
}

// aboutSuppressions is OT002. It speaks only of rules that are on in this run:
// what a rule that is off would have said is not known. OT601 needs facts, which
// drivers lose now and then, and so is never called unused.
func (p *pass) aboutSuppressions() []finding {
	rule, ok := p.on["OT002"]
	if !ok || p.testSupport() {
		return nil
	}
	var found []finding
	for _, s := range p.suppressions {
		var unused []string
		for _, id := range s.ids {
			if _, on := p.on[id]; on && id != "OT601" && !s.used[id] {
				unused = append(unused, id)
			}
		}
		if len(unused) == 0 {
			continue
		}
		f := finding{rule: rule, rng: s.comment, msg: "OT002: nothing here needs " + strings.Join(unused, ", ")}
		if len(unused) == len(s.ids) {
			f.todo = "Remove the suppression"
			f.fix = []analysis.TextEdit{{Pos: s.comment.Pos(), End: s.comment.End()}}
		}
		found = append(found, f)
	}
	return found
}

// factoryComment returns the comment in a package doc that declares the package
// a factory.
func (p *pass) factoryComment() (*ast.Comment, bool) {
	for _, c := range p.indexed {
		doc := c.Node().(*ast.File).Doc
		if doc == nil {
			continue
		}
		for _, comment := range doc.List {
			if _, ok := directive(comment, factoryPrefix); ok {
				return comment, true
			}
		}
	}
	return nil, false
}
