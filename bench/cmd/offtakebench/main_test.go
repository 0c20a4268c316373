package main

import (
	"strings"
	"testing"

	"github.com/offtake-go/offtake/bench/report"
)

func TestOnlySomeStepsAreTaken(t *testing.T) {
	all := steps(report.New())
	if got, err := chosen(all, ""); err != nil || len(got) != len(all) {
		t.Errorf(`chosen("") = %d steps, %v; want all %d`, len(got), err, len(all))
	}
	got, err := chosen(all, "recovery, outage")
	if err != nil || len(got) != 2 || got[0].name != "recovery" || got[1].name != "outage" {
		t.Errorf(`chosen("recovery, outage") = %v, %v; want the two`, got, err)
	}
	if _, err := chosen(all, "recovery,recover"); err == nil || !strings.Contains(err.Error(), `"recover"`) || !strings.Contains(err.Error(), "hung dial") {
		t.Errorf(`chosen("recovery,recover") = %v, want it to name the wrong one and those that there are`, err)
	}
}

func TestACommandCanBeRepeatedInAShell(t *testing.T) {
	const want = "go run ./cmd/offtakebench -only 'hung dial' -out results"
	if got := command([]string{"-only", "hung dial", "-out", "results"}); got != want {
		t.Errorf("command() = %s, want %s", got, want)
	}
}
