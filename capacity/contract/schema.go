package contract

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema (2020-12) of the file, for editors to complete
// and check it. A test derives it from the types of this package and their
// comments, so that it can not say anything else.
func Schema() []byte { return slices.Clone(schema) }
