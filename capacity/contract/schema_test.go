package contract

import (
	"bytes"
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

var update = flag.Bool("update", false, "write schema.json anew")

type object = map[string]any

func TestSchemaSaysWhatTheTypesSay(t *testing.T) {
	g := generator{comments: fieldComments(t), defs: object{}}
	root := g.structSchema(reflect.TypeFor[Contract](), false)
	overlay := g.structSchema(reflect.TypeFor[Contract](), true)
	delete(overlay["properties"].(object), "service")
	g.defs["Overlay"] = overlay
	root["properties"].(object)["environments"] = object{
		"description":          "Overlays by the name of an environment; each changes only what it names.",
		"type":                 "object",
		"propertyNames":        object{"pattern": namePattern},
		"additionalProperties": object{"$ref": "#/$defs/Overlay"},
	}
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "offtake.yaml: what a service draws from its upstreams"
	root["$defs"] = g.defs
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(root); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("schema.json", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(b.Bytes(), Schema()) {
		t.Error("schema.json differs from the types; go test -run Schema -update ./capacity/contract writes it anew")
	}
}

const (
	namePattern     = "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
	durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`
	ratePattern     = `^[0-9]+(\.[0-9]+)?([eE]\+?[0-9]+)?/(s|m|h)$`
	sharePattern    = `^[0-9]+(\.[0-9]+)?%$`
)

type generator struct {
	comments map[string]string // by Type.Field
	defs     object
}

func (g generator) structSchema(typ reflect.Type, partial bool) object {
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(typ) {
		field := typ.Field(f.index)
		s := g.schemaOf(field.Type, partial)
		if c := g.comments[typ.Name()+"."+field.Name]; c != "" {
			s["description"] = inKeysOf(typ, c)
		}
		properties[f.key] = s
		if f.required && !partial {
			required = append(required, f.key)
		}
	}
	s := object{"type": "object", "additionalProperties": false, "properties": properties}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (g generator) schemaOf(typ reflect.Type, partial bool) object {
	switch reflect.New(typ).Interface().(type) {
	case *time.Duration:
		return object{"type": "string", "pattern": durationPattern}
	case *Rate:
		return object{"type": "string", "pattern": ratePattern}
	case *Share:
		return object{"type": "string", "pattern": sharePattern}
	case *Date:
		return object{"type": "string", "format": "date"}
	case *Queue:
		return object{"oneOf": []any{object{"type": "integer", "minimum": 1}, object{"const": "none"}}}
	case *capacity.Pods:
		return object{"oneOf": []any{object{"type": "integer", "minimum": 0}, object{"type": "string", "pattern": "^[0-9]+%$"}}}
	case interface{ words() []string }:
		var enum []any
		for _, w := range reflect.New(typ).Interface().(interface{ words() []string }).words() {
			enum = append(enum, w)
			if n, err := strconv.Atoi(w); err == nil {
				enum = append(enum, n) // YAML reads an unquoted status as a number
			}
		}
		return object{"enum": enum}
	case encoding.TextUnmarshaler:
		panic("no schema for " + typ.String())
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return g.schemaOf(typ.Elem(), partial)
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		return object{"type": "integer", "minimum": 0}
	case reflect.Float64:
		return object{"type": "number", "minimum": 0}
	case reflect.Slice:
		return object{"type": "array", "items": g.schemaOf(typ.Elem(), partial)}
	case reflect.Map:
		return object{"type": "object", "propertyNames": object{"pattern": namePattern}, "additionalProperties": g.schemaOf(typ.Elem(), partial)}
	case reflect.Struct:
		name := typ.Name()
		if partial {
			name = "Partial" + name
		}
		if g.defs[name] == nil {
			g.defs[name] = object{} // holds the name while its fields are visited
			g.defs[name] = g.structSchema(typ, partial)
		}
		return object{"$ref": "#/$defs/" + name}
	}
	panic("no schema for " + typ.String())
}

// inKeysOf writes a comment, which has the names of fields, in the keys of a file.
func inKeysOf(typ reflect.Type, comment string) string {
	for _, f := range fieldsOf(typ) {
		comment = regexp.MustCompile(`\b`+typ.Field(f.index).Name+`\b`).ReplaceAllString(comment, f.key)
	}
	return comment
}

// fieldComments reads the comments of the types' fields. A field without one
// shares that of the field above it.
func fieldComments(t *testing.T) map[string]string {
	file, err := parser.ParseFile(token.NewFileSet(), "contract.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		fields, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		last := ""
		for _, f := range fields.Fields.List {
			if f.Doc != nil {
				last = strings.Join(strings.Fields(f.Doc.Text()), " ")
			}
			for _, name := range f.Names {
				comments[spec.Name.Name+"."+name.Name] = last
			}
		}
		return true
	})
	return comments
}

func TestEveryKeyHasAComment(t *testing.T) {
	comments := fieldComments(t)
	for _, typ := range []reflect.Type{
		reflect.TypeFor[Contract](), reflect.TypeFor[Upstream](), reflect.TypeFor[Caller](), reflect.TypeFor[Door](),
		reflect.TypeFor[Start](), reflect.TypeFor[Mesh](), reflect.TypeFor[Client](), reflect.TypeFor[Ignore](),
	} {
		for _, f := range fieldsOf(typ) {
			if name := typ.Name() + "." + typ.Field(f.index).Name; comments[name] == "" {
				t.Errorf("%s has no comment", name)
			}
		}
	}
}

// TestSchemaAndReaderAgree holds on examples that an editor which knows the schema
// and Parse come to the same verdict.
func TestSchemaAndReaderAgree(t *testing.T) {
	var root object
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	for file, valid := range map[string]bool{
		`{"service": "a", "replicas": {"min": 6, "surge": "25%"}}`:                           true,
		`{"service": "a", "replicas": {"min": 6}, "door": {"inFlight": 1, "queue": "none"}}`: true,
		`{"service": "a", "replicas": {"min": 6}, "door": {"inFlight": 1, "busy": 429}}`:     true,
		`{"service": "a", "replicas": {"min": 6}, "environments": {"p": {"replicas": {}}}}`:  true,
		`{"service": "a"}`:                                                                       false,
		`{"service": "a", "replicas": {"min": "6"}}`:                                             false,
		`{"service": "a", "replicas": {"min": 6}, "nope": 1}`:                                    false,
		`{"service": "a", "replicas": {"min": 6}, "callers": {"b": {"deadline": 8}}}`:            false,
		`{"service": "a", "replicas": {"min": 6}, "callers": {"b": {"rate": "120"}}}`:            false,
		`{"service": "a", "replicas": {"min": 6}, "callers": {"B": {}}}`:                         false,
		`{"service": "a", "replicas": {"min": 6}, "door": {"inFlight": 1, "busy": 418}}`:         false,
		`{"service": "a", "replicas": {"min": 6}, "environments": {"p": {"service": "b"}}}`:      false,
		`{"service": "a", "replicas": {"min": 6}, "environments": {"p": {"replicas": {"x":1}}}}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(file), &v); err != nil {
			t.Fatal(err)
		}
		_, err := Parse("f", []byte(file), "")
		if got := err == nil; got != valid {
			t.Errorf("Parse(%s) = %v, want valid %v", file, err, valid)
		}
		if problem := violates(root, root, v); (problem == "") != valid {
			t.Errorf("the schema says %q of %s, want valid %v", problem, file, valid)
		}
	}
}

// violates checks a value against the words of JSON Schema that schema.json uses.
func violates(root, s object, v any) string {
	if ref, ok := s["$ref"].(string); ok {
		return violates(root, root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object), v)
	}
	if one, ok := s["oneOf"].([]any); ok {
		matches := 0
		for _, o := range one {
			if violates(root, o.(object), v) == "" {
				matches++
			}
		}
		if matches != 1 {
			return fmt.Sprintf("%v matches %d of oneOf", v, matches)
		}
		return ""
	}
	if enum, ok := s["enum"].([]any); ok && !slices.Contains(enum, v) {
		return fmt.Sprintf("%v is not in %v", v, enum)
	}
	if want, ok := s["const"]; ok && want != v {
		return fmt.Sprintf("%v is not %v", v, want)
	}
	switch x := v.(type) {
	case object:
		if s["type"] != "object" {
			return fmt.Sprintf("%v is an object", v)
		}
		return violatesObject(root, s, x)
	case string:
		if s["type"] != nil && s["type"] != "string" {
			return fmt.Sprintf("%q is a string", x)
		}
		if p, ok := s["pattern"].(string); ok && !regexp.MustCompile(p).MatchString(x) {
			return fmt.Sprintf("%q does not match %s", x, p)
		}
	case float64:
		if s["type"] != nil && s["type"] != "number" && s["type"] != "integer" {
			return fmt.Sprintf("%v is a number", x)
		}
	}
	return ""
}

func violatesObject(root, s object, x object) string {
	properties, _ := s["properties"].(object)
	required, _ := s["required"].([]any)
	for _, key := range required {
		if _, ok := x[key.(string)]; !ok {
			return fmt.Sprintf("%v is missing", key)
		}
	}
	for key, value := range x {
		if sub, ok := properties[key].(object); ok {
			if problem := violates(root, sub, value); problem != "" {
				return key + ": " + problem
			}
			continue
		}
		if names, ok := s["propertyNames"].(object); ok && !regexp.MustCompile(names["pattern"].(string)).MatchString(key) {
			return key + " is not a name"
		}
		sub, ok := s["additionalProperties"].(object)
		if !ok {
			return key + " is not known"
		}
		if problem := violates(root, sub, value); problem != "" {
			return key + ": " + problem
		}
	}
	return ""
}
