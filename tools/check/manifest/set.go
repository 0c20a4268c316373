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

	// foreign says that it is no mapping, and so no manifest that went wrong.
	foreign bool
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

	node *yaml.Node
	line int // of the document in its file, from 0
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
	n := o.node
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
	n := o.node
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

	// Skipped counts documents of kinds that say nothing about calls.
	Skipped int
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
