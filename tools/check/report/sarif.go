package report

import (
	"io"
	"path/filepath"

	"github.com/offtake-go/offtake/tools/check"
)

// The parts of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
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
		Locations    []sarifLocation   `json:"locations,omitempty"`
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

// SARIF writes a report for code scanning. The fingerprint is rule and subject, so
// that a finding whose numbers change stays the same one.
func SARIF(out io.Writer, r *check.Report, version string) error {
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "offtake", Version: version}
	for _, rule := range check.Rules() {
		s := sarifRule{ID: rule.ID, ShortDescription: sarifText{rule.Title}, FullDescription: sarifText{rule.Breaks}}
		s.Default.Level = level(rule.Severity)
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, s)
	}
	for _, f := range r.Findings {
		result := sarifResult{
			RuleID: f.Rule, Level: level(f.Severity), Message: sarifText{f.Subject + ": " + f.Evidence + ". Would do: " + f.Remedy},
			Fingerprints: map[string]string{"ruleAndSubject/v1": f.Rule + "/" + f.Subject},
		}
		if f.Ref.File != "" && f.Ref.File != "-" {
			result.Locations = []sarifLocation{location(f.Ref.File, f.Ref.Line)}
		}
		run.Results = append(run.Results, result)
	}
	for _, p := range r.Broken {
		run.Results = append(run.Results, sarifResult{
			RuleID: "unreadable", Level: "error", Message: sarifText{p.Text}, Locations: []sarifLocation{location(p.File, p.Line)},
			Fingerprints: map[string]string{"ruleAndSubject/v1": "unreadable/" + p.Object},
		})
	}
	return encode(out, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

func location(file string, line int) sarifLocation {
	var l sarifLocation
	l.Physical.Artifact.URI = filepath.ToSlash(file)
	l.Physical.Region.StartLine = max(line, 1)
	return l
}

func level(s check.Severity) string {
	if s == check.Info {
		return "note"
	}
	return s.String()
}
