package contract

import (
	"reflect"
	"strings"
)

// Decode reads the only document in data into v, a pointer to a struct with yaml
// tags, as strictly as a contract is read. It is for files that stand beside a
// contract, such as a scenario. Fields of v that the file does not name stay as
// they are; a pointer that it names points to something new.
//
// Overlays are laid over the document one after another, as an environment is
// over its base. Decode returns all mistakes at once, each a [*Mistake], and
// where each key stands, even if there are mistakes.
func Decode(name string, data []byte, v any, overlays ...[]byte) (Positions, error) {
	root, err := parse(name, data)
	if err != nil {
		return Positions{}, err
	}
	for _, overlay := range overlays {
		over, err := parse(name, overlay)
		if err != nil {
			return Positions{}, err
		}
		root = merge(root, over)
	}
	d := &decoder{file: name, places: places{}, fields: map[reflect.Type][]field{}}
	d.places[""] = d.at(root)
	d.value(root, reflect.ValueOf(v).Elem(), "")
	return Positions{d.places}, d.found.err()
}

// Positions say where the keys of a file stand.
type Positions struct{ places places }

// Of returns where the file has a path such as events[2].rollout or, if it does
// not have it, the nearest mapping around it.
func (p Positions) Of(path string) Position { return p.places.of(path) }

func (p places) of(path string) Position {
	for {
		if at, ok := p[path]; ok {
			return at
		}
		i := strings.LastIndexAny(path, ".[")
		if i < 0 {
			return p[""]
		}
		path = path[:i]
	}
}
