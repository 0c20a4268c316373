package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check"
	"github.com/offtake-go/offtake/tools/check/manifest"
	"github.com/offtake-go/offtake/tools/internal/plain"
)

// checkNetwork holds the contracts below some folders against each other.
func (c *call) checkNetwork(o checkFlags, paths []string) (int, error) {
	if len(paths) == 0 {
		paths = []string{"."}
	}
	names, err := contractsIn(paths)
	if err != nil {
		return exitBadInput, err
	}
	var services []*contract.Contract
	var broken []manifest.Problem
	for _, name := range names {
		k, err := contract.Load(name, o.environment)
		if err != nil { // it says file, line and field itself
			broken = append(broken, manifest.Problem{Ref: manifest.Ref{File: name, Line: 1}, Text: plain.Lines(err.Error())})
			continue
		}
		services = append(services, k)
	}
	n := check.NewNetwork(services)
	r := n.Check()
	r.Broken = append(broken, r.Broken...)
	if o.graph {
		for _, p := range broken {
			fmt.Fprintln(c.stderr, plain.Lines(p.Text))
		}
		fmt.Fprint(c.stdout, n.Mermaid())
	} else if err := c.report(o, r); err != nil {
		return exitBadInput, err
	}
	return exitOf(r, o.failOn), nil
}

// contractsIn lists the contracts below folders, each once: files called offtake.yaml,
// and those that are named.
func contractsIn(paths []string) ([]string, error) {
	var names []string
	for _, path := range paths {
		err := filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || name != path && d.Name() != contractName {
				return err
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if len(names) < 2 {
		return nil, errors.New("offtake check: a network needs the contracts of two services; a folder with several " + contractName + " below it would do, or their names")
	}
	return names, nil
}
