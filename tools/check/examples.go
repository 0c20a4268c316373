package check

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed examples.json
var examples []byte

// An Example is numbers for which a rule holds or does not.
type Example struct {
	Name string
	Verdict
}

// Examples returns what the rule says of its examples: one at least that holds and
// one that does not.
func (r Rule) Examples() ([]Example, error) {
	var all []struct {
		ID       string
		Examples []struct {
			Name  string
			Input json.RawMessage
		}
	}
	if err := json.Unmarshal(examples, &all); err != nil {
		return nil, fmt.Errorf("check: examples: %w", err)
	}
	var found []Example
	for _, rule := range all {
		if rule.ID != r.ID {
			continue
		}
		for _, e := range rule.Examples {
			v, err := r.Try(e.Input)
			if err != nil {
				return nil, err
			}
			found = append(found, Example{e.Name, v})
		}
	}
	return found, nil
}
