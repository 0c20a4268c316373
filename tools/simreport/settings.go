package simreport

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/offtake-go/offtake/capacity/simulate/scenario"
)

// A change is one setting that two scenarios state differently.
type change struct{ Key, Before, After string }

// changes lists the settings in which two scenarios differ: what the reader can
// change to get from one outcome to the other.
func changes(before, after *scenario.File) []change {
	b, a := settings(before), settings(after)
	old := map[string]string{}
	for _, s := range b {
		old[s.key] = s.value
	}
	var all []change
	seen := map[string]bool{}
	for _, s := range a {
		seen[s.key] = true
		if was := old[s.key]; was != s.value {
			all = append(all, change{s.key, orNone(was), s.value})
		}
	}
	for _, s := range b {
		if !seen[s.key] {
			all = append(all, change{s.key, s.value, orNone("")})
		}
	}
	return all
}

func orNone(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

type setting struct{ key, value string }

// settings lists everything of a scenario that has an effect, by the path of its
// keys.
func settings(f *scenario.File) []setting {
	var all []setting
	v := reflect.ValueOf(*f)
	for i := range v.NumField() {
		switch key := keyOf(v.Type().Field(i)); key {
		case "name", "about", "contract", "seeds":
		default:
			all = append(all, flatten(key, v.Field(i))...)
		}
	}
	return all
}

func keyOf(f reflect.StructField) string {
	key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return key
}

// flatten lists the leaves of v. Zero values are left out: they are what a file
// does not state. The words of a choice are not, as the first is a choice too.
func flatten(path string, v reflect.Value) []setting {
	if _, ok := v.Interface().(fmt.Stringer); ok && v.Kind() != reflect.Pointer {
		if v.IsZero() && v.Kind() != reflect.Uint8 {
			return nil
		}
		return []setting{{path, fmt.Sprint(v.Interface())}}
	}
	var all []setting
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return flatten(path, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, flatten(fmt.Sprintf("%s[%d]", path, i), v.Index(i))...)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			all = append(all, flatten(path+"."+keyOf(v.Type().Field(i)), v.Field(i))...)
		}
	default:
		if !v.IsZero() {
			return []setting{{path, fmt.Sprint(v.Interface())}}
		}
	}
	return all
}
