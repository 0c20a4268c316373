package contract

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxSize is the most bytes of a file: 50 upstreams take some 20,000.
const maxSize = 1 << 20

// A File is a file that was read, with all of its environments. It is immutable.
type File struct {
	name string
	base *yaml.Node            // the root mapping without environments
	over map[string]*yaml.Node // one mapping for each environment
}

// Load reads the contract in the file at path with the overlay of one environment;
// "" is none. It returns all mistakes at once, each a [*Mistake]: those of spelling
// and form in all environments, or, if there are none, those of what was read.
func Load(path, environment string) (*Contract, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	return Parse(path, data, environment)
}

// Parse is Load for the bytes of a file, whose name is for messages.
func Parse(name string, data []byte, environment string) (*Contract, error) {
	f, err := Read(name, data)
	if err != nil {
		return nil, err
	}
	return f.Contract(environment)
}

// Read reads a file without choosing an environment. It returns all mistakes of
// spelling and form; what depends on the environment is checked by
// [File.Contract].
func Read(name string, data []byte) (*File, error) {
	root, err := parse(name, data)
	if err != nil {
		return nil, err
	}
	f := &File{name: name, over: map[string]*yaml.Node{}}
	d := f.decoder()
	f.split(root, d)
	d.partial = true
	d.value(f.base, reflect.ValueOf(new(Contract)).Elem(), "")
	for _, env := range f.Environments() {
		d.value(f.over[env], reflect.ValueOf(new(Contract)).Elem(), join("environments", env))
	}
	if err := d.found.err(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) decoder() *decoder {
	return &decoder{file: f.name, places: places{}, fields: map[reflect.Type][]field{}}
}

// split takes the overlays out of the root.
func (f *File) split(root *yaml.Node, d *decoder) {
	base := *root
	base.Content = nil
	for i := 0; i+1 < len(root.Content) && root.Kind == yaml.MappingNode; i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if key.Value != "environments" {
			base.Content = append(base.Content, key, value)
			continue
		}
		if value.Tag == "!!null" || len(f.over) > 0 {
			d.mistake(key, "environments", "it is empty or stands twice; a name with an overlay would do")
			continue
		}
		for env, over := range d.pairs(value, "environments") {
			if !isName(env.Value) {
				d.mistake(env, "environments", "%q is not a name; lower-case letters, digits and hyphens would do", brief(env.Value))
				continue
			}
			f.over[env.Value] = over
			for i := 0; i+1 < len(over.Content); i += 2 {
				if key := over.Content[i]; key.Value == "service" {
					d.mistake(key, join(join("environments", env.Value), "service"), "an overlay can not rename the service; no key here would do")
				}
			}
		}
	}
	f.base = &base
}

// Environments returns the names of the overlays, sorted.
func (f *File) Environments() []string { return slices.Sorted(maps.Keys(f.over)) }

// Contract returns the contract of one environment; "" is the base alone. It
// returns all mistakes at once, those of the sizes that package capacity derives
// included. An infeasible demand is no mistake of the file: Plan returns it.
func (f *File) Contract(environment string) (*Contract, error) {
	root := f.base
	if environment != "" {
		over, ok := f.over[environment]
		if !ok {
			return nil, f.unknownEnvironment(environment)
		}
		root = merge(root, over)
	}
	c := &Contract{Environment: environment}
	d := f.decoder()
	d.value(root, reflect.ValueOf(c).Elem(), "")
	c.places = d.places
	c.places[""] = d.at(root)
	if len(d.found) == 0 {
		c.defaults(&d.found)
		c.check(&d.found)
	}
	if err := d.found.err(); err != nil {
		return nil, err
	}
	return c, nil
}

func (f *File) unknownEnvironment(environment string) error {
	known := f.Environments()
	switch near := Nearest(environment, known); {
	case near != "":
		return fmt.Errorf("contract: %s: environment %q is not known; did you mean %s", f.name, environment, near)
	case len(known) == 0:
		return fmt.Errorf("contract: %s: environment %q is not known; the file has none", f.name, environment)
	default:
		return fmt.Errorf("contract: %s: environment %q is not known; one of %s would do", f.name, environment, strings.Join(known, ", "))
	}
}

// merge lays a mapping over another: mappings join key by key, everything else
// replaces what it names. Nodes keep their positions.
func merge(base, over *yaml.Node) *yaml.Node {
	if base.Kind != yaml.MappingNode || over.Kind != yaml.MappingNode {
		return over
	}
	merged := *base
	merged.Content = slices.Clone(base.Content)
	index := map[string]int{}
	for i := 0; i+1 < len(base.Content); i += 2 {
		index[base.Content[i].Value] = i + 1
	}
	for i := 0; i+1 < len(over.Content); i += 2 {
		key, value := over.Content[i], over.Content[i+1]
		if at, ok := index[key.Value]; ok {
			merged.Content[at] = merge(merged.Content[at], value)
			continue
		}
		merged.Content = append(merged.Content, key, value)
	}
	return &merged
}

// parse returns the root node of the only document in data.
func parse(name string, data []byte) (*yaml.Node, error) {
	if len(data) > maxSize {
		return nil, &Mistake{Position{name, 1, 1}, "", fmt.Sprintf("the file has more than %d bytes", maxSize)}
	}
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(data) {
		return parseJSON(data), nil
	}
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, &Mistake{Position{name, 1, 1}, "", "the file is empty; \"service: name\" would begin it"}
		}
		return nil, syntax(name, err)
	}
	if err := d.Decode(&more); err == nil {
		return nil, &Mistake{Position{name, more.Line, more.Column}, "", "a second document begins; one file states one service"}
	} else if !errors.Is(err, io.EOF) {
		return nil, syntax(name, err)
	}
	return doc.Content[0], nil
}

// syntax finds the line in the parser's message: "yaml: line 2: …".
func syntax(name string, err error) error {
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		digits, tail, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(digits); err == nil {
			line, text = n, tail
		}
	}
	return &Mistake{Position{name, line, 1}, "", text}
}
