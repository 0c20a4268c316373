package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/golang/protobuf/jsonpb" //nolint:staticcheck // its successor refuses "5m", which Istio takes
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
)

// istio decodes one of Istio's messages. Durations may be "5m", which protojson
// refuses and Istio's generated UnmarshalJSON takes; but that one ignores unknown
// fields, so they are looked for here first and taken out.
func istio(tree any, into proto.Message) (unknown []string, err error) {
	unknown = prune(into.ProtoReflect().Descriptor(), tree, "")
	b, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	if err := jsonpb.UnmarshalString(string(b), protoadapt.MessageV1Of(into)); err != nil {
		return nil, err
	}
	return unknown, nil
}

// envoy decodes one of Envoy's messages. Extensions that are not linked in can not
// be read, and are taken out without complaint: they are not misspelt.
func envoy(tree any, into proto.Message) (unknown []string, err error) {
	unknown = prune(into.ProtoReflect().Descriptor(), tree, "")
	if err := foldEnums(into.ProtoReflect().Descriptor(), tree); err != nil {
		return nil, err
	}
	b, err := json.Marshal(tree)
	if err != nil {
		return nil, err
	}
	if err := protojson.Unmarshal(b, into); err != nil {
		return nil, fmt.Errorf("%s", strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\u00a0", " "), "proto: "))
	}
	return unknown, nil
}

// prune removes the keys that a message does not have, and returns their paths in
// order.
func prune(d protoreflect.MessageDescriptor, v any, path string) []string {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if d.FullName() == "google.protobuf.Any" {
		return pruneAny(object, path)
	}
	if strings.HasPrefix(string(d.FullName()), "google.protobuf.") {
		return nil // has a form of its own in JSON
	}
	var unknown []string
	for key, value := range object {
		sub := key
		if path != "" {
			sub = path + "." + key
		}
		f := d.Fields().ByJSONName(key)
		if f == nil {
			f = d.Fields().ByName(protoreflect.Name(key))
		}
		if f == nil {
			unknown = append(unknown, sub)
			delete(object, key)
			continue
		}
		unknown = append(unknown, pruneField(f, value, sub)...)
	}
	slices.Sort(unknown)
	return unknown
}

func pruneField(f protoreflect.FieldDescriptor, value any, path string) []string {
	var unknown []string
	switch {
	case f.IsMap():
		if f.MapValue().Message() == nil {
			return nil
		}
		entries, _ := value.(map[string]any)
		for key, entry := range entries {
			unknown = append(unknown, prune(f.MapValue().Message(), entry, path+"."+key)...)
		}
	case f.Message() == nil:
	case f.IsList():
		items, _ := value.([]any)
		for i, item := range items {
			unknown = append(unknown, prune(f.Message(), item, fmt.Sprintf("%s[%d]", path, i))...)
		}
	default:
		return prune(f.Message(), value, path)
	}
	return unknown
}

// pruneAny empties an Any whose type is not linked in.
func pruneAny(object map[string]any, path string) []string {
	url, _ := object["@type"].(string)
	t, err := protoregistry.GlobalTypes.FindMessageByURL(url)
	if err == nil {
		body := map[string]any{}
		for key, value := range object {
			if key != "@type" {
				body[key] = value
			}
		}
		unknown := prune(t.Descriptor(), body, path)
		clear(object)
		object["@type"] = url
		maps.Copy(object, body)
		return unknown
	}
	clear(object)
	object["@type"] = "type.googleapis.com/google.protobuf.Empty"
	object["value"] = map[string]any{}
	return nil
}

// foldEnums writes the values of enumerations as their types have them. Envoy takes
// strict_dns for STRICT_DNS, and protojson does not. A value that there is not in any
// case is an error.
func foldEnums(d protoreflect.MessageDescriptor, v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if d.FullName() == "google.protobuf.Any" {
		url, _ := object["@type"].(string)
		t, err := protoregistry.GlobalTypes.FindMessageByURL(url)
		if err != nil {
			return nil //nolint:nilerr // an extension that is not linked in
		}
		d = t.Descriptor()
	}
	var errs []error
	for key, value := range object {
		f := d.Fields().ByJSONName(key)
		if f == nil {
			f = d.Fields().ByName(protoreflect.Name(key))
		}
		if f == nil || f.IsMap() && f.MapValue().Message() == nil {
			continue
		}
		var err error
		switch {
		case f.IsMap():
			entries, _ := value.(map[string]any)
			for _, entry := range entries {
				errs = append(errs, foldEnums(f.MapValue().Message(), entry))
			}
		case f.IsList():
			items, _ := value.([]any)
			for i, item := range items {
				items[i], err = foldEnum(f, item)
				errs = append(errs, err)
			}
		default:
			object[key], err = foldEnum(f, value)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// foldEnum does so with one value of a field, and below it.
func foldEnum(f protoreflect.FieldDescriptor, value any) (any, error) {
	if f.Message() != nil {
		return value, foldEnums(f.Message(), value)
	}
	text, ok := value.(string)
	if f.Enum() == nil || !ok {
		return value, nil
	}
	for i := range f.Enum().Values().Len() {
		if name := string(f.Enum().Values().Get(i).Name()); strings.EqualFold(name, text) {
			return name, nil
		}
	}
	return value, said(describe(text) + " does not fit; " + valuesOf(string(f.Enum().FullName())) + " would do")
}
