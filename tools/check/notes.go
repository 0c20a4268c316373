package check

import (
	"slices"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// twice says which objects stand in the input more than once, as a base and a patch of
// it do. It is tempting to lay one over the other, but only their tool knows how.
func (w *World) twice() []string {
	type name struct{ kind, namespace, name string }
	first := map[name]*manifest.Object{}
	var notes []string
	for _, o := range w.Manifest.Objects {
		if o.APIVersion == "" || o.Name == "" {
			continue // a dump or an excerpt
		}
		key := name{o.Kind, o.Namespace, o.Name}
		if before := first[key]; before != nil {
			notes = append(notes, say("%v is in %v and in %v, and the result may be that of either; one of them, or what kustomize build makes of both, would do", o, before.Ref, o.Ref))
			continue
		}
		first[key] = o
	}
	const shown = 3
	if n := len(notes); n > shown {
		notes = append(notes[:shown], say("and %d more objects that are there twice", n-shown))
	}
	return notes
}

// beside says what was not read without being wrong, once for each reason.
func (w *World) beside() []string {
	var notes []string
	for _, n := range w.Manifest.Notes {
		more := ""
		if len(n.Refs) > 1 {
			more = say(", and so %s more", map[bool]string{true: "is one", false: say("are %d", len(n.Refs)-1)}[len(n.Refs) == 2])
		}
		notes = append(notes, say("%v is %s%s", n.Refs[0], n.Why, more))
	}
	return notes
}

// notes says where manifests were read and say nothing about the service: rules
// whose numbers are not known are silent, as they are where all is well.
func (w *World) notes() []string {
	if n := w.Manifest.Skipped; n > 0 && len(w.Manifest.Objects)+len(w.Manifest.Problems) == 0 {
		return append(w.beside(), say("nothing of what was read says anything about calls: %s of other kinds", counted(n, "document")))
	}
	notes := append(w.twice(), w.beside()...)
	if n := len(w.versions); n > 1 {
		notes = append(notes, say("%d workloads stand behind %s; their pods are counted together, and those of %v were looked at", n, w.Service.Name, w.versions[0]))
	}
	if w.Service.Known {
		return notes
	}
	var names []string
	in := ""
	if w.namespace != "" {
		in = " in the namespace " + w.namespace
	}
	for _, o := range w.workloads() {
		name := o.Name
		if in != "" && o.Namespace != "" {
			name = o.Namespace + "/" + name
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return notes
	}
	if near := contract.Nearest(w.Service.Name, names); near != "" {
		names = []string{near}
	}
	const shown = 3
	more := ""
	if len(names) > shown {
		more = say(" and %d more", len(names)-shown)
		names = names[:shown]
	}
	return append(notes, say("no workload is called %s%s, and no Service of its name selects one, so its pods are not checked; read were %s%s", w.Service.Name, in, strings.Join(names, ", "), more))
}
