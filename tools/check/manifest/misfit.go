package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// A misfit is a value that its field can not hold.
type misfit struct {
	path []string // as Object.At takes it
	text string
}

// said is an error that says already what is wrong with a value and what would do.
type said string

func (s said) Error() string { return string(s) }

// deepest is how many levels of a document are searched for a misfit.
const deepest = 64

// misfits finds out which values a decoder has refused. What it says itself names a
// Go type, or nothing; so it is asked again about each value alone, level by level.
func misfits(tree map[string]any, decode func(tree map[string]any) error) []misfit {
	s := search{decode: decode}
	s.object(nil, tree)
	return s.found
}

type search struct {
	decode func(tree map[string]any) error
	found  []misfit
}

// try decodes a document that has one value and nothing else.
func (s *search) try(path []string, value any) error {
	for _, key := range slices.Backward(path) {
		if strings.HasPrefix(key, "[") {
			value = []any{value}
		} else {
			value = map[string]any{key: value}
		}
	}
	tree, ok := value.(map[string]any)
	if !ok {
		return nil
	}
	return s.decode(tree)
}

func (s *search) object(path []string, v map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(v)) {
		s.value(append(slices.Clone(path), key), v[key])
	}
}

func (s *search) value(path []string, v any) {
	err := s.try(path, v)
	if err == nil {
		return
	}
	before := len(s.found)
	if len(path) < deepest {
		switch v := v.(type) {
		case map[string]any:
			if s.try(path, map[string]any{}) == nil {
				s.object(path, v)
			}
		case []any:
			if s.try(path, []any{}) == nil {
				for i, item := range v {
					s.value(append(slices.Clone(path), fmt.Sprintf("[%d]", i)), item)
				}
			}
		}
	}
	if len(s.found) == before {
		s.found = append(s.found, misfit{path, s.text(path, v, err)})
	}
}

// text says what a value is, and what its field takes instead.
func (s *search) text(path []string, v any, err error) string {
	if text, ok := errors.AsType[said](err); ok {
		return string(text)
	}
	is := describe(v)
	if _, enum, ok := strings.Cut(err.Error(), " for enum "); ok {
		return is + " does not fit; " + valuesOf(enum) + " would do"
	}
	for _, would := range []struct {
		value any
		name  string
	}{
		{true, "true or false"}, {1, "a number such as 1"}, {"a", "text"}, {"5s", "a duration such as 5s"}, {[]any{}, "a list"}, {map[string]any{}, "a mapping"},
	} {
		if s.try(path, would.value) == nil {
			return is + " does not fit; " + would.name + " would do"
		}
	}
	return is + " does not fit: " + strings.TrimPrefix(err.Error(), "json: ")
}

// valuesOf lists the values of an enumeration.
func valuesOf(enum string) string {
	t, err := protoregistry.GlobalTypes.FindEnumByName(protoreflect.FullName(enum))
	if err != nil {
		return "one of its values"
	}
	var names []string
	for i := range t.Descriptor().Values().Len() {
		names = append(names, string(t.Descriptor().Values().Get(i).Name()))
	}
	return "one of " + strings.Join(names, ", ")
}

// describe writes a value as it may stand in a message.
func describe(v any) string {
	switch v.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	}
	b, err := json.Marshal(v)
	if err != nil {
		return "the value"
	}
	if r := []rune(string(b)); len(r) > 40 {
		return string(r[:39]) + "…"
	}
	return string(b)
}

// join writes a path as spec.subsets[0].name.
func join(path []string) string {
	return strings.ReplaceAll(strings.Join(path, "."), ".[", "[")
}
