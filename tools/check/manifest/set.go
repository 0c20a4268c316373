package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Ref is a place in an input.
type Ref struct {
	File string
	Line int
}

// String writes file:line, or nothing for the zero Ref.
func (r Ref) String() string {
	if r.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", r.File, r.Line)
}

// A Problem is a part of an input that does not read.
type Problem struct {
	Ref

	// Object is the kind and name it is in, Field the path of an unknown field.
	Object, Field string

	// Text says what is wrong, Meant which field comes near the unknown one.
	Text, Meant string

	// beside says of what a folder may have beside manifests what it is instead of
	// one that went wrong.
	beside beside
}

// beside is what a folder may have beside manifests.
type beside string

const (
	foreign   beside = "no mapping" // of which nothing need be said
	template  beside = "a template, and not read; what helm template makes of it would do"
	patch     beside = "a patch, and not read; what kustomize build makes of it would do"
	kindless  beside = "no YAML and no JSON, has no kind, and was taken for no manifest"
	filter    beside = "an EnvoyFilter, which may change anything and is not interpreted; a /config_dump of a proxy would do"
	danglings beside = "a link that leads nowhere"
)

// A Note is why some documents were not read, and where they stand.
type Note struct {
	Why  string
	Refs []Ref
}

// An Object is one document that was understood.
type Object struct {
	Ref

	APIVersion, Kind string
	Namespace, Name  string

	// Created is the creationTimestamp, which a cluster gives it.
	Created string

	// Value is the typed object: *appsv1.Deployment, *DestinationRule, and so on.
	Value any

	// Unknown lists the paths of fields that the type does not have.
	Unknown []string

	// node is parsed anew from text when a place in it is asked for: of a thousand
	// objects a handful are, and nodes take twenty times what their text does.
	node *yaml.Node
	text []byte
	line int // of the document in its file, from 0
}

// root is the object's mapping. It is for one goroutine, as the whole set is.
func (o *Object) root() *yaml.Node {
	if o.node == nil && o.text != nil {
		var root yaml.Node
		if yaml.Unmarshal(o.text, &root) == nil && len(root.Content) > 0 {
			o.node = root.Content[0]
		}
	}
	return o.node
}

// String writes Kind/name, or the kind of what has no name.
func (o *Object) String() string {
	if o.Name == "" {
		return o.Kind
	}
	return o.Kind + "/" + o.Name
}

// At returns where the object has a path such as "spec", "trafficPolicy"; the
// nearest mapping around it if it is not there.
func (o *Object) At(path ...string) Ref {
	at := Ref{o.File, o.Line}
	n := o.root()
	for _, key := range path {
		next := child(n, key)
		if next == nil {
			break
		}
		n = next
		at.Line = o.line + n.Line
	}
	return at
}

// Keys lists the keys of the mapping at a path, as they are written.
func (o *Object) Keys(path ...string) []string {
	n := o.root()
	for _, key := range path {
		n = child(n, key)
	}
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	var keys []string
	for i := 0; i+1 < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys
}

// child finds a key of a mapping or an index of a list.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				// The key's line is what a reader looks for, the value's content what
				// is searched on.
				v := *n.Content[i+1]
				v.Line = n.Content[i].Line
				return &v
			}
		}
	case yaml.SequenceNode:
		var i int
		if _, err := fmt.Sscanf(key, "[%d]", &i); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i]
		}
	}
	return nil
}

// A Set is everything that was read. Its zero value is empty.
type Set struct {
	Objects  []*Object
	Problems []Problem

	// Notes say what was not read without being a problem, once for each reason.
	Notes []Note

	// Skipped counts documents of kinds that say nothing about calls.
	Skipped int
}

// note adds a place to the note of a reason.
func (s *Set) note(why beside, at ...Ref) {
	for i := range s.Notes {
		if s.Notes[i].Why == string(why) {
			s.Notes[i].Refs = append(s.Notes[i].Refs, at...)
			return
		}
	}
	s.Notes = append(s.Notes, Note{string(why), at})
}

// add puts another set behind this one.
func (s *Set) add(more *Set) {
	s.Objects = append(s.Objects, more.Objects...)
	s.Problems = append(s.Problems, more.Problems...)
	for _, n := range more.Notes {
		s.note(beside(n.Why), n.Refs...)
	}
	s.Skipped += more.Skipped
}

// Of returns the objects whose value has type T, in the order they were read.
func Of[T any](s *Set) []*Object {
	var found []*Object
	for _, o := range s.Objects {
		if _, ok := o.Value.(T); ok {
			found = append(found, o)
		}
	}
	return found
}

// split writes a path that decoders report, such as spec.subsets[0].name, in its
// parts.
func split(path string) []string {
	path = strings.ReplaceAll(path, "[", ".[")
	return strings.FieldsFunc(path, func(r rune) bool { return r == '.' })
}
