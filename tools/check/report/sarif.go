package report

import (
	"io"
	"net/url"
	"path/filepath"
	"slices"

	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// The parts of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
	}
	// sarifInvocation holds the notes: they are about the check, not about a place.
	sarifInvocation struct {
		Successful    bool        `json:"executionSuccessful"`
		Notifications []sarifNote `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNote struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		FullDescription  sarifText `json:"fullDescription"`
		Default          struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region struct {
			StartLine int `json:"startLine"`
		} `json:"region"`
	}
)

// unreadable is the rule of inputs that could not be read.
func unreadable() check.Rule {
	return check.Rule{
		ID: "unreadable", Title: "an input that does not read", Severity: check.Error,
		Breaks: "a document is neither YAML nor JSON, or has a value that its type can not hold",
	}
}

// SARIF writes a report for code scanning. The fingerprint is rule and subject, so
// that a finding whose numbers change stays the same one.
func SARIF(out io.Writer, r *check.Report, version string) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "offtake", Version: version}
	for _, rule := range append(slices.Concat(check.Rules(), check.InputRules(), check.NetworkRules()), unreadable()) {
		s := sarifRule{ID: rule.ID, ShortDescription: sarifText{rule.Title}, FullDescription: sarifText{rule.Breaks}}
		s.Default.Level = level(rule.Severity)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, s)
	}
	for _, f := range r.Findings {
		result := sarifResult{
			RuleID: f.Rule, Level: level(f.Severity), Message: sarifText{f.Subject + ": " + f.Evidence + ". Would do: " + f.Remedy},
			Fingerprints: map[string]string{"ruleAndSubject/v1": f.Rule + "/" + f.Subject},
		}
		result.Locations = []sarifLocation{location(r, f.Ref)}
		run.Results = append(run.Results, result)
	}
	for _, p := range r.Broken {
		run.Results = append(run.Results, sarifResult{
			RuleID: unreadable().ID, Level: "error", Message: sarifText{p.Text}, Locations: []sarifLocation{location(r, p.Ref)},
			Fingerprints: map[string]string{"ruleAndSubject/v1": unreadable().ID + "/" + p.File + "/" + p.Object + "/" + p.Text},
		})
	}
	invocation := sarifInvocation{Successful: len(r.Broken) == 0}
	for _, note := range r.Notes {
		invocation.Notifications = append(invocation.Notifications, sarifNote{"note", sarifText{note}})
	}
	run.Invocations = []sarifInvocation{invocation}
	return encode(out, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// location points at a file. Code scanning refuses a whole log for one result
// without a place, so what stands in standard input is laid to the contract.
func location(r *check.Report, at manifest.Ref) sarifLocation {
	if at.File == "" || at.File == "-" {
		at = manifest.Ref{File: r.Contract, Line: 1}
	}
	var l sarifLocation
	l.Physical.Artifact.URI = (&url.URL{Path: filepath.ToSlash(at.File)}).String()
	l.Physical.Region.StartLine = max(at.Line, 1)
	return l
}

func level(s check.Severity) string {
	if s == check.Info {
		return "note"
	}
	return s.String()
}
