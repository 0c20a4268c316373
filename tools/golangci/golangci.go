// Package golangci makes the analyzer of package vet a module plugin of
// golangci-lint v2.
//
// It is a module of its own, so that nobody who runs the analyzer otherwise has
// to download some two hundred linters.
package golangci

import (
	"fmt"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/offtake-go/offtake/tools/vet"
)

// Name is what the linter is called in golangci-lint's configuration.
const Name = "offtake"

// The contract of golangci-lint is that importing a plugin registers it.
func init() {
	register.Plugin(Name, New)
}

// New makes the plugin from the settings in golangci-lint's configuration, which
// have the names of the flags. The error names every mistake in them.
func New(settings any) (register.LinterPlugin, error) {
	opts, err := register.DecodeSettings[vet.Options](settings)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	analyzer, err := vet.New(&opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Name, err)
	}
	return plugin{analyzer}, nil
}

type plugin struct {
	analyzer *analysis.Analyzer
}

func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{p.analyzer}, nil
}

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
