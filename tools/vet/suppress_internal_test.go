package vet

import "testing"

func FuzzParseIDs(f *testing.F) {
	for _, seed := range []string{"OT101", "OT101,OT202", "", "OT001", " OT101 , x", ",,"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, list string) {
		ids, problems := parseIDs(list)
		if len(ids)+len(problems) == 0 {
			t.Errorf("parseIDs(%q) = nothing, want an ID or a problem", list)
		}
		for _, id := range ids {
			if rule, ok := ruleByID(id); !ok || rule.Profile == Meta {
				t.Errorf("parseIDs(%q) accepts %q, want only rules that can be suppressed", list, id)
			}
		}
	})
}
