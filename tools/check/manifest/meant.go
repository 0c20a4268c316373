package manifest

import (
	"reflect"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// meant is the field of an object's type that a path with an unknown one comes
// nearest to; "" if none is near.
func meant(value any, path string) string {
	t := reflect.TypeOf(value)
	steps := split(path)
	if elem := structOf(t); elem != nil && elem.NumField() == 1 && elem.Field(0).Anonymous {
		t = elem.Field(0).Type // DestinationRule{*networking.DestinationRule}
		if steps[0] == "spec" || steps[0] == "meshConfig" {
			steps = steps[1:]
		}
	}
	for i, step := range steps {
		if strings.HasPrefix(step, "[") {
			continue
		}
		elem := structOf(t)
		if elem == nil {
			return ""
		}
		fields := fieldsOf(elem)
		next, ok := fields[step]
		if !ok {
			if i < len(steps)-1 {
				return ""
			}
			var names []string
			for name := range fields {
				names = append(names, name)
			}
			slices.Sort(names)
			return contract.Nearest(step, names)
		}
		t = next
	}
	return ""
}

// structOf is the struct that a type points to, or has as elements; nil if none.
func structOf(t reflect.Type) reflect.Type {
	for t != nil {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			t = t.Elem()
		case reflect.Struct:
			return t
		default:
			return nil
		}
	}
	return nil
}

// fieldsOf are the types of a struct's fields by their names in JSON.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		for part := range strings.SplitSeq(f.Tag.Get("protobuf"), ",") {
			if json, ok := strings.CutPrefix(part, "json="); ok {
				name = json
			}
		}
		switch {
		case !f.IsExported() || name == "-":
		case name == "" && f.Anonymous:
			if inner := structOf(f.Type); inner != nil {
				for name, t := range fieldsOf(inner) {
					fields[name] = t
				}
			}
		case name != "":
			fields[name] = f.Type
		}
	}
	return fields
}
