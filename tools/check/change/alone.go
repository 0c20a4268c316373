package change

import (
	"reflect"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// alone returns what one change does by itself: the effects between the contract as
// it was and the same with this one key as it is now.
func alone(before, after *contract.Contract, path string) []Effect {
	keys := strings.Split(path, ".")
	hybrid := replaced(reflect.ValueOf(*before), reflect.ValueOf(*after), keys).Interface().(contract.Contract)
	var effects []Effect
	for _, name := range names(&hybrid) {
		if keys[0] == "upstreams" && keys[1] != name {
			continue
		}
		old, had := sizesOf(before, name)
		now, _ := sizesOf(&hybrid, name)
		if had && old != now {
			effects = append(effects, Effect{Upstream: name, Old: old, New: now, Worse: now.worseThan(old)})
		}
	}
	return effects
}

// replaced returns a copy of a in which the value at a path is that of b.
func replaced(a, b reflect.Value, path []string) reflect.Value {
	if len(path) == 0 {
		return b
	}
	switch a.Kind() {
	case reflect.Struct:
		return replacedField(a, b, path)
	case reflect.Map:
		return replacedEntry(a, b, path)
	case reflect.Pointer:
		to := reflect.New(a.Type().Elem())
		to.Elem().Set(replaced(orZero(elem(a), a.Type().Elem()), orZero(elem(b), a.Type().Elem()), path))
		return to
	}
	return b
}

func replacedField(a, b reflect.Value, path []string) reflect.Value {
	to := reflect.New(a.Type()).Elem()
	to.Set(a)
	for i := range a.NumField() {
		if key, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ","); key == path[0] {
			to.Field(i).Set(replaced(a.Field(i), b.Field(i), path[1:]))
		}
	}
	return to
}

func replacedEntry(a, b reflect.Value, path []string) reflect.Value {
	to := reflect.MakeMap(a.Type())
	for _, k := range a.MapKeys() {
		to.SetMapIndex(k, a.MapIndex(k))
	}
	was, is := orZero(entry(a, path[0]), a.Type().Elem()), entry(b, path[0])
	if is.IsValid() {
		is = replaced(was, is, path[1:])
	}
	to.SetMapIndex(reflect.ValueOf(path[0]), is) // an invalid value takes it out
	return to
}

func orZero(v reflect.Value, t reflect.Type) reflect.Value {
	if !v.IsValid() {
		return reflect.Zero(t)
	}
	return v
}
