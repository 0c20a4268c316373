package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Read reads files and directories; "-" is stdin. A directory is walked for names
// that end in yaml, yml, json or txt; links to files are followed, and those to
// directories only where a path itself is one. An input that was named and can not be
// opened, or has nothing to read, is an error; one that does not parse, or that a
// folder has and nobody may read, is a Problem of the set. What stands in a directory
// beside manifests and can be none is skipped: notes, and lists of words. Templates,
// patches and links that lead nowhere are noted once.
//
// Documents are read one after the other, so that an input takes no more memory than
// its largest one and what is kept of the others.
func Read(paths []string, stdin io.Reader) (*Set, error) {
	all := &Set{}
	var names []string
	var errs []error
	for _, path := range paths {
		found, err := all.list(path)
		names = append(names, found...)
		errs = append(errs, err)
	}
	if i := slices.Index(names, "-"); i >= 0 && slices.Contains(names[i+1:], "-") {
		errs = append(errs, errors.New("manifest: -: standard input can be read once; one - would do"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	parts := make([]*Set, len(names))
	failed := make([]error, len(names))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				parts[i], failed[i] = readOne(names[i], stdin, slices.Contains(paths, names[i]))
			}
		})
	}
	for i := range names {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	for _, p := range parts {
		all.add(p)
	}
	return all, nil
}

// list lists the files that a path stands for. What a folder has and can not be
// opened goes into the set: it is no reason to leave out the others.
func (s *Set) list(path string) ([]string, error) {
	if path == "-" {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	root, err := filepath.EvalSymlinks(path) // WalkDir does not follow its root either
	if err != nil {
		return nil, err
	}
	var names []string
	links := ""
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		shown := filepath.Join(path, strings.TrimPrefix(name, root))
		if err != nil && name != root {
			s.unread(shown, err)
			return nil
		}
		if err != nil || !slices.Contains([]string{".yaml", ".yml", ".json", ".txt"}, filepath.Ext(name)) {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			info, err := os.Stat(name)
			if err != nil {
				s.note(danglings, Ref{shown, 1})
				links += "; " + shown + " is " + string(danglings)
				return nil //nolint:nilerr // it is noted, and what stands beside it is read
			}
			d = fs.FileInfoToDirEntry(info)
		}
		if d.Type().IsRegular() {
			names = append(names, shown)
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		// A check that passes since it was pointed elsewhere is worse than none.
		err = fmt.Errorf("manifest: %s: no file in it ends in yaml, yml, json or txt%s", path, links)
	}
	return names, err
}

func (s *Set) unread(name string, err error) {
	s.Problems = append(s.Problems, Problem{Ref: Ref{name, 1}, Text: err.Error()})
}

// readOne reads one file, or stdin. named says that it was asked for by its name.
func readOne(name string, stdin io.Reader, named bool) (*Set, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return unreadable(name, err, named)
		}
		defer f.Close()
		in = f
	}
	s, empty, err := parse(name, in)
	switch {
	case err != nil:
		return unreadable(name, err, named)
	case empty && named:
		return nil, fmt.Errorf("manifest: %s: it is empty; what was to write it may have failed", name)
	case !named:
		s.skipBeside(name)
	}
	return s, nil
}

func unreadable(name string, err error, named bool) (*Set, error) {
	if named {
		return nil, err
	}
	s := &Set{}
	s.unread(name, err)
	return s, nil
}

// skipBeside drops what a file that nobody named has beside manifests, and notes what
// may be missed. It is tempting to do so with all that does not parse, but then a
// manifest that is broken is one that holds.
func (s *Set) skipBeside(name string) {
	noted := false // one note for each file
	s.Problems = slices.DeleteFunc(s.Problems, func(p Problem) bool {
		notes := filepath.Ext(name) == ".txt" && len(s.Objects) == 0
		if !notes && p.beside == "" {
			return false
		}
		s.Skipped++
		if !notes && p.beside != foreign && !noted {
			s.note(p.beside, p.Ref)
			noted = true
		}
		return true
	})
}
