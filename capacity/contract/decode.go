package contract

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// places are the positions of all keys that were read, by path.
type places map[string]Position

// A decoder fills Go values from nodes. It is our own and not the YAML package's:
// that one stops at a type's first mistake, drops positions, and takes "1_000",
// "yes" or 120 where a unit is wanted.
type decoder struct {
	file    string
	partial bool // an overlay: nothing is required
	found   mistakes
	places  places
	fields  map[reflect.Type][]field
}

type field struct {
	key      string
	index    int
	required bool
}

func (d *decoder) at(n *yaml.Node) Position { return Position{d.file, n.Line, n.Column} }

func (d *decoder) mistake(n *yaml.Node, path, format string, args ...any) {
	d.found.add(&Mistake{d.at(n), path, fmt.Sprintf(format, args...)})
}

// value decodes a node into v, which is settable.
func (d *decoder) value(n *yaml.Node, v reflect.Value, path string) {
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.mistake(n, path, "anchors and aliases are not read; an overlay under environments would do, or the value itself")
		return
	case n.Tag == "!!null":
		d.mistake(n, path, "the value is empty; a value would do, or no key at all")
		return
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), path)
		return
	}
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok || isScalar(v) {
		d.scalar(n, v, path)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.mapping(n, v, path)
	case reflect.Map:
		d.named(n, v, path)
	case reflect.Slice:
		d.list(n, v, path)
	default:
		panic("contract: no decoder for " + v.Type().String())
	}
}

func isScalar(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Float64, reflect.Bool:
		return true
	}
	return false
}

// mapping decodes the keys of a struct.
func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string) {
	fields := d.fieldsOf(v.Type())
	seen := map[string]bool{}
	for key, value := range d.pairs(n, path) {
		i := fieldNamed(fields, key.Value)
		if i < 0 {
			d.unknown(key, path, fields)
			continue
		}
		if seen[key.Value] {
			continue // pairs has said so
		}
		seen[key.Value] = true
		sub := join(path, key.Value)
		d.places[sub] = d.at(value)
		d.value(value, v.Field(fields[i].index), sub)
	}
	for _, f := range fields {
		if f.required && !d.partial && !seen[f.key] && n.Kind == yaml.MappingNode {
			d.mistake(n, join(path, f.key), "it is required")
		}
	}
}

// named decodes a map whose keys are the user's names.
func (d *decoder) named(n *yaml.Node, v reflect.Value, path string) {
	m := reflect.MakeMap(v.Type())
	for key, value := range d.pairs(n, path) {
		if !isName(key.Value) {
			d.mistake(key, path, "%q is not a name; lower-case letters, digits and hyphens would do", key.Value)
			continue
		}
		sub := join(path, key.Value)
		d.places[sub] = d.at(key)
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(value, item, sub)
		m.SetMapIndex(reflect.ValueOf(key.Value), item)
	}
	v.Set(m)
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.SequenceNode {
		d.mistake(n, path, "it is %s, not a list; [%s] would do", kindOf(n), brief(n.Value))
		return
	}
	s := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		sub := fmt.Sprintf("%s[%d]", path, i)
		d.places[sub] = d.at(item)
		d.value(item, s.Index(i), sub)
	}
	v.Set(s)
}

// pairs yields the keys and values of a mapping, each key once.
func (d *decoder) pairs(n *yaml.Node, path string) func(yield func(key, value *yaml.Node) bool) {
	return func(yield func(key, value *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			d.mistake(n, path, "it is %s, not a mapping of keys to values", kindOf(n))
			return
		}
		first := map[string]int{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Tag == "!!merge" {
				d.mistake(key, path, "merge keys are not read; an overlay under environments would do, or the values themselves")
				continue
			}
			if key.Kind != yaml.ScalarNode {
				d.mistake(key, path, "the key is not a plain word")
				continue
			}
			if line, ok := first[key.Value]; ok {
				d.mistake(key, join(path, key.Value), "it stands a second time; the first is in line %d", line)
				continue
			}
			first[key.Value] = key.Line
			if !yield(key, n.Content[i+1]) {
				return
			}
		}
	}
}

func (d *decoder) unknown(key *yaml.Node, path string, fields []field) {
	known := make([]string, len(fields))
	for i, f := range fields {
		known[i] = f.key
	}
	if ours, ok := meantBy(key.Value, known); ok {
		d.mistake(key, join(path, brief(key.Value)), "the key is not known; here it is %s", ours)
		return
	}
	if w := Nearest(key.Value, known); w != "" {
		d.mistake(key, join(path, brief(key.Value)), "the key is not known; did you mean %s", w)
		return
	}
	d.mistake(key, join(path, brief(key.Value)), "the key is not known; one of %s would do", strings.Join(known, ", "))
}

func (d *decoder) fieldsOf(t reflect.Type) []field {
	if fields, ok := d.fields[t]; ok {
		return fields
	}
	fields := fieldsOf(t)
	d.fields[t] = fields
	return fields
}

// fieldsOf lists the keys of a struct in the order of its fields.
func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		key, option, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if key != "" && key != "-" {
			fields = append(fields, field{key, i, option == "required"})
		}
	}
	return fields
}

func fieldNamed(fields []field, key string) int {
	for i, f := range fields {
		if f.key == key {
			return i
		}
	}
	return -1
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return fmt.Sprintf("%q", brief(n.Value))
}

// brief cuts text that is quoted in a message.
func brief(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// isName reports whether s is a name as Kubernetes has them.
func isName(s string) bool {
	if s == "" || len(s) > 63 || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
