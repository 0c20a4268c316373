package main

import "testing"

// docs/kubernetes.md says so of the example that it is about.
func TestTheExampleServicePassesTheCheck(t *testing.T) {
	const service = "../../../examples/service/"
	code, out, errOut := offtake(t, "", "check", "-fail-on", "warning", "-f", service+"offtake.yaml", service+"kubernetes.yaml")
	if code != exitOK {
		t.Errorf("offtake check of examples/service = %d, want %d:\n%s%s", code, exitOK, out, errOut)
	}
}
