package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// errAbsent is that of a revision that does not have the file.
var errAbsent = errors.New("no such file in the revision")

// readEnds reads both sides. One that is a revision from before or after the file was
// there is nil; both at once would be a name that nobody has written right.
func readEnds(ctx context.Context, ends []string, file string) (files [2]*contract.File, err error) {
	if file == "" {
		file = "offtake.yaml"
		for _, end := range ends {
			if _, err := os.Stat(end); err == nil {
				file = end
			}
		}
	}
	var absent []error
	for i, end := range ends {
		name, data, err := readEnd(ctx, end, file)
		if errors.Is(err, errAbsent) {
			absent = append(absent, err)
			continue
		}
		if err == nil {
			files[i], err = contract.Read(name, data)
		}
		if err != nil {
			return files, err
		}
	}
	if len(absent) == len(ends) {
		return files, errors.Join(absent...)
	}
	return files, nil
}

// readEnd reads one side: a file, REVISION:PATH, or the file at a revision.
func readEnd(ctx context.Context, end, file string) (name string, data []byte, err error) {
	data, err = os.ReadFile(end)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return end, data, err
	}
	if strings.HasPrefix(end, "-") {
		return "", nil, fmt.Errorf("offtake diff: %q is neither a file nor a revision", end)
	}
	dir, object := ".", end
	revision, _, exact := strings.Cut(end, ":")
	if !exact {
		dir, object = filepath.Dir(file), end+":./"+filepath.Base(file)
	}
	git := func(args ...string) ([]byte, error) {
		var stderr bytes.Buffer
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			err = errors.New(strings.TrimSpace(stderr.String()))
		}
		return out, err
	}
	data, err = git("show", object)
	if err == nil {
		return object, data, nil
	}
	if _, unknown := git("rev-parse", "--quiet", "--verify", revision+"^{tree}"); unknown == nil && !exact {
		return "", nil, fmt.Errorf("offtake diff: %s: %w: %w", end, errAbsent, err)
	}
	return "", nil, fmt.Errorf("offtake diff: %q is neither a file nor a git revision with %s: %w", end, file, err)
}
