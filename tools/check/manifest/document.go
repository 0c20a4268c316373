package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// addDocument reads one document that begins after line lines of its file.
func (s *Set) addDocument(name string, doc []byte, line int) {
	if kind, ok := peekKind(doc); ok && !worthParsing(kind, doc) {
		if kind == "EnvoyFilter" {
			at := bytes.Index(doc, []byte("kind:"))
			s.note(filter, Ref{name, line + 1 + bytes.Count(doc[:at], []byte("\n"))})
		}
		s.Skipped++
		return
	}
	var root yaml.Node
	err := yaml.Unmarshal(doc, &root)
	if err != nil {
		if plain := withoutComments(doc); plain != nil { // JSON as people write it
			if again := yaml.Unmarshal(plain, &root); again == nil {
				doc, err = plain, nil
			}
		}
	}
	before := len(s.Problems)
	switch marks := bytes.Index(doc, []byte("{{")); {
	case err != nil && marks >= 0:
		at := line + 1 + bytes.Count(doc[:marks], []byte("\n"))
		s.Problems = append(s.Problems, Problem{Ref: Ref{name, at}, Text: "it is a template; what helm template makes of it would do", beside: template})
	case err != nil:
		s.syntax(name, line, err)
		if !bytes.Contains(doc, []byte("kind")) && !bytes.Contains(doc, []byte("apiVersion")) {
			s.mark(before, kindless)
		}
	case len(root.Content) == 0 || root.Content[0].Tag == "!!null": // only comments
	default:
		s.addNode(name, root.Content[0], doc, line)
		if marks >= 0 {
			s.mark(before, template)
		}
	}
}

// mark says of the problems since the first ones that their document may be something
// else.
func (s *Set) mark(first int, what beside) {
	for i := range s.Problems[first:] {
		if p := &s.Problems[first+i]; p.Field == "" && p.beside == "" {
			p.beside = what
		}
	}
}

// worthParsing spares the ConfigMaps and Secrets of a whole cluster.
func worthParsing(kind string, doc []byte) bool {
	if kind == "ConfigMap" {
		return bytes.Contains(doc, []byte("mesh")) // the key, however it is written
	}
	_, decode := decoderOf(kind)
	return decode != nil || strings.HasSuffix(kind, "List")
}

// peekKind finds the kind of a block-style manifest without parsing it.
func peekKind(doc []byte) (string, bool) {
	at := 0
	if !bytes.HasPrefix(doc, []byte("kind:")) {
		i := bytes.Index(doc, []byte("\nkind:"))
		if i < 0 || bytes.Contains(doc[i+1:], []byte("\nkind:")) {
			return "", false
		}
		at = i + 1
	}
	value, _, _ := bytes.Cut(doc[at+len("kind:"):], []byte("\n"))
	value, _, _ = bytes.Cut(value, []byte(" #"))
	kind := string(bytes.Trim(value, " \t\r\"'"))
	return kind, kind != ""
}

// syntax reports what the YAML package says, which counts lines from the
// document's first.
func (s *Set) syntax(name string, line int, err error) {
	texts := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = several.Errors
	}
	var found []Problem
	for _, text := range texts {
		at := 1
		if rest, ok := strings.CutPrefix(text, "line "); ok {
			digits, tail, _ := strings.Cut(rest, ": ")
			if n, err := strconv.Atoi(digits); err == nil {
				at, text = n, tail
			}
		}
		text, _, _ = strings.Cut(text, " at line ") // another line of the document
		found = append(found, Problem{Ref: Ref{name, line + at}, Text: text})
	}
	slices.SortStableFunc(found, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	s.Problems = append(s.Problems, found...)
}

// addNode reads one object, the items of a list, or a form without a kind. An object
// keeps the text of its document; where several have one, their nodes.
func (s *Set) addNode(name string, n *yaml.Node, doc []byte, line int) {
	if n.Kind == yaml.SequenceNode { // istioctl proxy-config cluster -o json
		for _, item := range n.Content {
			s.addNode(name, item, nil, line)
		}
		return
	}
	if n.Kind != yaml.MappingNode {
		s.Problems = append(s.Problems, Problem{Ref: Ref{name, line + n.Line}, Text: "it is neither a manifest nor a configuration that is known", beside: foreign})
		return
	}
	if items := child(n, "items"); items != nil && strings.HasSuffix(scalar(n, "kind"), "List") {
		for _, item := range items.Content {
			s.addNode(name, item, nil, line)
		}
		return
	}
	kind := scalar(n, "kind")
	if kind == "" {
		kind = formOf(n)
	}
	group, decode := decoderOf(kind)
	if decode != nil && group != "" && scalar(n, "apiVersion") == "" {
		s.Problems = append(s.Problems, Problem{Ref: Ref{name, line + n.Line}, Text: fmt.Sprintf("a %s without an apiVersion; %s… would do", kind, group)})
		return
	}
	if decode == nil || !strings.HasPrefix(scalar(n, "apiVersion"), group) {
		s.Skipped++
		return
	}
	o := &Object{Ref: Ref{name, line + n.Line}, APIVersion: scalar(n, "apiVersion"), Kind: kind, node: n, line: line}
	if at := directive(n, deepest); at != nil {
		s.note(patch, Ref{name, line + at.Line})
		return
	}
	s.decode(o, decode)
	if o.Value != nil && doc != nil {
		o.text, o.node = doc, nil
	}
}

// directive finds a key that only Kustomize understands. It is tempting to read what
// is around it, but a part of a manifest has defaults that the whole has not.
func directive(n *yaml.Node, depth int) *yaml.Node {
	if depth == 0 {
		return nil
	}
	for i, item := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if name, _, _ := strings.Cut(item.Value, "/"); slices.Contains([]string{"$patch", "$setElementOrder", "$retainKeys", "$deleteFromPrimitiveList"}, name) {
				return item
			}
			continue
		}
		if found := directive(item, depth-1); found != nil {
			return found
		}
	}
	return nil
}

// decode turns an object's nodes into its type.
func (s *Set) decode(o *Object, decode decoder) {
	var tree map[string]any
	if err := o.node.Decode(&tree); err != nil { // bounds the expansion of aliases
		s.syntax(o.File, o.line, err)
		return
	}
	if m, ok := tree["metadata"].(map[string]any); ok {
		o.Name, _ = m["name"].(string)
		o.Namespace, _ = m["namespace"].(string)
		o.Created = scalar(child(o.node, "metadata"), "creationTimestamp")
		delete(m, "managedFields") // large, and none of our business
	}
	if o.Name == "" {
		o.Name, _ = tree["name"].(string)
	}
	value, unknown, err := decode(tree)
	if err != nil {
		s.misfits(o, tree, decode, err)
		return
	}
	o.Value, o.Unknown = slim(value), unknown
	for _, path := range unknown {
		s.Problems = append(s.Problems, Problem{
			Ref: o.At(split(path)...), Object: o.String(), Field: path,
			Text: fmt.Sprintf("%s has no field %s", o.Kind, path), Meant: meant(value, path),
		})
	}
	s.Objects = append(s.Objects, o)
}

// misfits reports every value that the type of an object can not hold, at its line.
func (s *Set) misfits(o *Object, tree map[string]any, decode decoder, err error) {
	found := misfits(tree, func(tree map[string]any) error {
		_, _, err := decode(tree)
		return err
	})
	if len(found) == 0 {
		found = []misfit{{text: err.Error()}}
	}
	slices.SortStableFunc(found, func(a, b misfit) int { return cmp.Compare(o.At(a.path...).Line, o.At(b.path...).Line) })
	for _, m := range found {
		s.Problems = append(s.Problems, Problem{Ref: o.At(m.path...), Object: o.String(), Text: fmt.Sprintf("%v: %s", o, strings.TrimPrefix(join(m.path)+": "+m.text, ": "))})
	}
}

// scalar is the text of a key, "" if there is none.
func scalar(n *yaml.Node, key string) string {
	if v := child(n, key); v != nil && v.Kind == yaml.ScalarNode {
		return v.Value
	}
	return ""
}

// formOf tells configurations without a kind by their keys. The order matters:
// Istio's mesh configuration has a connectTimeout, as a cluster of Envoy has.
func formOf(n *yaml.Node) string {
	for _, f := range []struct {
		form string
		keys []string
	}{
		{"EnvoyBootstrap", []string{"static_resources"}},
		{"EnvoyConfigDump", []string{"configs"}},
		{"EnvoyClusters", []string{"cluster_statuses"}},
		{"EnvoyRoutes", []string{"virtual_hosts", "virtualHosts"}},
		{"GRPCServiceConfig", []string{"methodConfig", "retryThrottling", "loadBalancingConfig"}},
		{"MeshConfig", []string{"meshConfig", "defaultConfig", "defaultTrafficPolicy"}},
		{"EnvoyCluster", []string{"connect_timeout", "connectTimeout", "outlier_detection", "outlierDetection", "circuit_breakers"}},
	} {
		if slices.ContainsFunc(f.keys, func(key string) bool { return child(n, key) != nil }) {
			return f.form
		}
	}
	return ""
}

// remarshal decodes a tree through JSON.
func remarshal(tree, into any) error {
	b, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
