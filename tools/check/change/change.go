package change

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// A Change is one key with another value.
type Change struct {
	// Path is the key with those around it.
	Path string

	// Old and New are the values; "" if the key is absent.
	Old, New string

	// Capacity says that it changes how much can be carried, or how long for.
	Capacity bool

	// Alone is what it does by itself, to each upstream that it changes.
	Alone []Effect
}

// Same reports whether two changes are of one key and from and to the same values.
func (c Change) Same(o Change) bool { return c.Path == o.Path && c.Old == o.Old && c.New == o.New }

// An Effect is what all changes together do to one upstream, or to the [Door].
type Effect struct {
	Upstream string
	Old, New Sizes

	// Worse says that more calls fail or wait than before.
	Worse bool
}

// A Diff is what is between two contracts.
type Diff struct {
	Changes []Change
	Effects []Effect
}

// Capacity reports whether any change is a capacity change.
func (d *Diff) Capacity() bool {
	return slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Capacity })
}

// Compare compares two contracts of one service, in one environment.
func Compare(before, after *contract.Contract) *Diff {
	d := &Diff{}
	d.value("", reflect.ValueOf(*before), reflect.ValueOf(*after))
	for i := range d.Changes {
		if ch := &d.Changes[i]; ch.Capacity {
			ch.Alone = alone(before, after, ch.Path)
		}
	}
	all := append(names(before), names(after)...)
	slices.Sort(all)
	for _, name := range slices.Compact(all) {
		old, had := sizesOf(before, name)
		now, has := sizesOf(after, name)
		if (had || has) && old != now {
			d.Effects = append(d.Effects, Effect{Upstream: name, Old: old, New: now, Worse: has && had && now.worseThan(old)})
		}
	}
	return d
}

// value compares two values of one type, key by key.
func (d *Diff) value(path string, a, b reflect.Value) {
	if a.IsValid() && b.IsValid() && reflect.DeepEqual(a.Interface(), b.Interface()) {
		return
	}
	kind := a.Kind()
	if !a.IsValid() {
		kind = b.Kind()
	}
	switch {
	case kind == reflect.Struct && hasKeys(a, b):
		d.fields(path, a, b)
	case kind == reflect.Map:
		d.entries(path, a, b)
	case kind == reflect.Pointer:
		d.value(path, elem(a), elem(b))
	default:
		d.Changes = append(d.Changes, Change{Path: path, Old: text(a), New: text(b), Capacity: isCapacity(path)})
	}
}

// hasKeys reports whether a struct is one of the file's mappings, and not a value
// such as Pods.
func hasKeys(a, b reflect.Value) bool {
	t := typeOf(a, b)
	return t.NumField() > 0 && t.Field(0).Tag.Get("yaml") != ""
}

func typeOf(a, b reflect.Value) reflect.Type {
	if a.IsValid() {
		return a.Type()
	}
	return b.Type()
}

func (d *Diff) fields(path string, a, b reflect.Value) {
	t := typeOf(a, b)
	for i := range t.NumField() {
		key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if key == "" || key == "-" {
			continue
		}
		zero := reflect.Zero(t.Field(i).Type)
		d.value(join(path, key), fieldOr(a, i, zero), fieldOr(b, i, zero))
	}
}

func fieldOr(v reflect.Value, i int, zero reflect.Value) reflect.Value {
	if !v.IsValid() {
		return zero
	}
	return v.Field(i)
}

func (d *Diff) entries(path string, a, b reflect.Value) {
	var names []string
	for _, m := range []reflect.Value{a, b} {
		if m.IsValid() {
			for _, k := range m.MapKeys() {
				names = append(names, k.String())
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		d.value(join(path, name), entry(a, name), entry(b, name))
	}
}

func entry(m reflect.Value, name string) reflect.Value {
	if !m.IsValid() || m.IsNil() {
		return reflect.Value{}
	}
	return m.MapIndex(reflect.ValueOf(name))
}

func elem(v reflect.Value) reflect.Value {
	if !v.IsValid() || v.IsNil() {
		return reflect.Value{}
	}
	return v.Elem()
}

// text writes a value as the file does; "" for what is not there.
func text(v reflect.Value) string {
	if !v.IsValid() || v.IsZero() {
		return ""
	}
	return fmt.Sprint(v.Interface())
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// isCapacity tells the keys from which sizes and times follow.
func isCapacity(path string) bool {
	last := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case strings.HasPrefix(path, "replicas."), strings.HasPrefix(path, "door."), strings.HasPrefix(path, "start."):
		return last != "busy" && last != "probes" && last != "ready"
	case strings.HasPrefix(path, "callers."):
		return last == "rate" || last == "deadline" || last == "attempts"
	case strings.HasPrefix(path, "upstreams."):
		return slices.Contains([]string{
			"rate", "latency", "p50", "p99", "degraded", "headroom", "waitChance", "limit", "streams", "inFlight", "connections", "queue", "wait",
			"deadline", "attempt", "attempts", "retryShare", "bodyIdle", "maxConns", "maxIdle", "timeout", "protocol",
		}, last)
	}
	return false
}
