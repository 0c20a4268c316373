package driver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/offtake-go/offtake/tools/vet"
)

// The part of SARIF 2.1.0 that code scanning reads, with the names of
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string      `json:"id"`
		Name             string      `json:"name"`
		ShortDescription sarifText   `json:"shortDescription"`
		HelpURI          string      `json:"helpUri"`
		Default          sarifConfig `json:"defaultConfiguration"`
	}
	sarifConfig struct {
		Enabled bool         `json:"enabled"`
		Level   vet.Severity `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     vet.Severity    `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

// writeSARIF prints one run with all rules, found or not: a scanner tells
// "fixed" from "no longer checked" by them.
func writeSARIF(w io.Writer, findings []Finding) error {
	run := sarifRun{
		Tool:       sarifTool{sarifDriver{Name: "offtakevet", InformationURI: "https://github.com/offtake-go/offtake"}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
	}
	for _, r := range vet.Rules() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{
			ID: r.ID, Name: r.Name, ShortDescription: sarifText{r.Title}, HelpURI: r.URL(),
			Default: sarifConfig{Enabled: r.Profile == vet.Bugs || r.Profile == vet.Meta, Level: r.Severity},
		})
	}
	files := make(lines)
	for _, f := range findings {
		run.Results = append(run.Results, sarifResult{
			RuleID: f.Rule, Level: f.Severity, Message: sarifText{f.Message},
			Locations: []sarifLocation{{sarifPhysical{
				Artifact: sarifArtifact{uri(f.File)},
				Region:   files.region(f),
			}}},
		})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// uri is the reference to a file, with what a URI can not hold escaped.
func uri(file string) string {
	return (&url.URL{Path: file}).String()
}

// lines holds the files that findings lie in, to count their columns in code
// points, the unit that the log declares. The compiler counts bytes.
type lines map[string][][]byte

func (l lines) region(f Finding) *sarifRegion {
	if f.Line == 0 {
		return nil
	}
	r := &sarifRegion{f.Line, l.column(f.File, f.Line, f.Column), f.EndLine, l.column(f.File, f.EndLine, f.EndColumn)}
	if r.StartColumn == 0 || r.EndColumn == 0 {
		return &sarifRegion{StartLine: f.Line}
	}
	return r
}

// column returns 0 if there is no such place, as under a //line directive.
func (l lines) column(file string, line, column int) int {
	text, ok := l[file]
	if !ok {
		if data, err := os.ReadFile(filepath.FromSlash(file)); err == nil {
			text = bytes.Split(data, []byte("\n"))
		}
		l[file] = text
	}
	if line < 1 || line > len(text) || column < 1 || column > len(text[line-1])+1 {
		return 0
	}
	return utf8.RuneCount(text[line-1][:column-1]) + 1
}
