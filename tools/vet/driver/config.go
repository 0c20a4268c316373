package driver

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/offtake-go/offtake/tools/vet"
)

// ConfigName is the configuration file beside go.mod. Each line is
//
//	name = value
//
// with the names and values of the flags; # starts a comment. Flags win over
// the file.
const ConfigName = ".offtakevet"

// fileOptions reads the configuration of the module that dir is in. Without a
// file it returns the zero Options.
func fileOptions(dir string) (*vet.Options, error) {
	opts := new(vet.Options)
	root, ok := moduleRoot(dir)
	if !ok {
		return opts, nil
	}
	name := filepath.Join(root, ConfigName)
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return opts, nil
	}
	if err != nil {
		return nil, err
	}
	return opts, parseConfig(name, data, opts)
}

// parseConfig reads settings into opts. The error names every mistake as
// file:line:column.
func parseConfig(name string, data []byte, opts *vet.Options) error {
	var errs []error
	seen := make(map[string]int)
	line := 0
	for text := range bytes.Lines(data) {
		line++
		s, _, _ := strings.Cut(string(text), "#")
		if strings.TrimSpace(s) == "" {
			continue
		}
		col := len(s) - len(strings.TrimLeft(s, " \t")) + 1
		key, value, ok := strings.Cut(s, "=")
		key = strings.TrimSpace(key)
		fail := func(col int, err error) {
			errs = append(errs, fmt.Errorf("%s:%d:%d: %w", name, line, col, err))
		}
		if !ok {
			fail(col, fmt.Errorf("%q has no value, want a line such as profile = strict", strings.TrimSpace(s)))
			continue
		}
		if first, dup := seen[key]; dup {
			fail(col, fmt.Errorf("%s is set a second time, first on line %d; want one line with commas", key, first))
			continue
		}
		seen[key] = line
		if err := opts.Set(key, strings.TrimSpace(value)); err != nil {
			fail(strings.Index(s, "=")+2, err)
		}
	}
	return errors.Join(errs...)
}

// moduleRoot returns the closest directory from dir upwards that has a go.mod.
func moduleRoot(dir string) (string, bool) {
	return upwards(dir, "go.mod")
}

func upwards(dir, name string) (string, bool) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// configFiles returns what a run started in dir depends on beside the code: the
// file that names its main modules, which is go.mod or go.work, and the
// configuration files that it may read, which are those of the main modules and
// of the folders that replace others.
func configFiles(dir string) (home string, files []string, err error) {
	var roots []string
	if root, ok := moduleRoot(dir); ok {
		roots = append(roots, root)
		home = filepath.Join(root, "go.mod")
	}
	work := os.Getenv("GOWORK")
	if work == "" {
		if root, ok := upwards(dir, "go.work"); ok {
			work = filepath.Join(root, "go.work")
		}
	}
	if work != "" && work != "off" {
		home = work
		data, err := os.ReadFile(work)
		if err != nil {
			return "", nil, err
		}
		parsed, err := modfile.ParseWork(work, data, nil)
		if err != nil {
			return "", nil, err
		}
		for _, use := range parsed.Use {
			roots = append(roots, within(filepath.Dir(work), use.Path))
		}
		roots = append(roots, replacements(filepath.Dir(work), parsed.Replace)...)
	}
	for _, root := range slices.Clone(roots) {
		name := filepath.Join(root, "go.mod")
		data, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the go command says so
		}
		if err != nil {
			return "", nil, err
		}
		// Anything else that is wrong with it is the go command's to say.
		if parsed, err := modfile.Parse(name, data, nil); err == nil {
			roots = append(roots, replacements(root, parsed.Replace)...)
		}
	}
	slices.Sort(roots)
	for _, root := range slices.Compact(roots) {
		name := filepath.Join(root, ConfigName)
		if _, err := os.Stat(name); err == nil {
			files = append(files, name)
		}
	}
	return home, files, nil
}

// replacements returns the folders that stand in for other modules.
func replacements(dir string, list []*modfile.Replace) []string {
	var roots []string
	for _, r := range list {
		if r.New.Version == "" {
			roots = append(roots, within(dir, r.New.Path))
		}
	}
	return roots
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
