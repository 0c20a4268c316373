package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestReferenceListsEveryKey(t *testing.T) {
	var root object
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| key | value | |\n|---|---|---|\n")
	listKeys(&b, root, root, "")
	const path = "../../docs/contract.md"
	doc, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "-run Reference -update -->\n", "<!-- end of keys -->"
	head, rest, ok := strings.Cut(string(doc), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the keys", path)
	}
	want := []byte(head + begin + b.String() + end + tail)
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(doc, want) {
		t.Errorf("%s does not list the keys as they are; -update writes them anew", path)
	}
}

// listKeys writes the keys of a mapping and of those below it.
func listKeys(b *strings.Builder, root, s object, path string) {
	properties, _ := s["properties"].(object)
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		p := properties[key].(object)
		sub := join(path, key)
		about, _ := p["description"].(string)
		inner := p
		if more, ok := p["additionalProperties"].(object); ok {
			sub, inner = sub+".NAME", more
		}
		if items, ok := p["items"].(object); ok {
			sub, inner = sub+"[]", items
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", sub, valueOf(inner), about)
		if ref, ok := inner["$ref"].(string); ok && !strings.HasSuffix(ref, "/Overlay") {
			listKeys(b, root, root["$defs"].(object)[strings.TrimPrefix(ref, "#/$defs/")].(object), sub)
		}
	}
}

// valueOf says in a word what a key may hold.
func valueOf(s object) string {
	if enum, ok := s["enum"].([]any); ok {
		var words []string
		for _, w := range enum {
			if text, ok := w.(string); ok {
				words = append(words, text)
			}
		}
		return strings.Join(words, ", ")
	}
	switch {
	case s["$ref"] != nil:
		return "mapping"
	case s["pattern"] == durationPattern:
		return "time"
	case s["pattern"] == ratePattern:
		return "rate"
	case s["pattern"] == sharePattern:
		return "share"
	case s["format"] == "date":
		return "day"
	case s["oneOf"] != nil:
		if s["oneOf"].([]any)[1].(object)["const"] != nil {
			return "number or none"
		}
		return "pods or percent"
	case s["type"] == "string":
		return "text"
	case s["type"] == "boolean":
		return "true or false"
	}
	return "number"
}
