package contract

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// parseJSON builds nodes from JSON that is known to be valid. Most of JSON is
// YAML, but not its escapes ("\/", surrogate pairs), so it has a reader of its
// own.
func parseJSON(data []byte) *yaml.Node {
	r := &jsonReader{data: data, d: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1}
	r.d.UseNumber()
	return r.value()
}

type jsonReader struct {
	data         []byte
	d            *json.Decoder
	offset       int // up to which line and column have counted
	line, column int
}

func (r *jsonReader) value() *yaml.Node {
	n := r.node()
	switch t := r.token().(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if t == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for r.d.More() {
			n.Content = append(n.Content, r.value())
		}
		r.token() // the closing one
	case string:
		n.Tag, n.Value = "!!str", t
	case json.Number:
		n.Tag, n.Value = "!!int", t.String()
	case bool:
		n.Tag, n.Value = "!!bool", "false"
		if t {
			n.Value = "true"
		}
	case nil:
		n.Tag = "!!null"
	}
	return n
}

func (r *jsonReader) token() json.Token {
	t, err := r.d.Token()
	if err != nil {
		panic("contract: valid JSON does not read: " + err.Error())
	}
	return t
}

// node returns a scalar node at the next token.
func (r *jsonReader) node() *yaml.Node {
	at := int(r.d.InputOffset())
	for at < len(r.data) && bytes.IndexByte([]byte(" \t\r\n,:"), r.data[at]) >= 0 {
		at++
	}
	for r.offset < at {
		c, size := utf8.DecodeRune(r.data[r.offset:])
		r.offset += size
		r.column++
		if c == '\n' {
			r.line, r.column = r.line+1, 1
		}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.column}
}
