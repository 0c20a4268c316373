package manifest

import (
	"bytes"
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

// maxFile is the most bytes of one input: a dump of a thousand manifests is some
// megabytes, a proxy's configuration some tens.
const maxFile = 256 << 20

// Read reads files and directories; "-" is stdin. A directory is walked for names
// that end in yaml, yml, json or txt; links to files are followed, and those to
// directories only where a path itself is one. An input that can not be opened, or
// has nothing to read, is an error; one that does not parse is a Problem of the set.
// What stands in a directory beside manifests and can be none is skipped: notes, and
// lists of words.
func Read(paths []string, stdin io.Reader) (*Set, error) {
	var names []string
	var errs []error
	for _, path := range paths {
		found, err := list(path)
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
				data, err := readFile(names[i], stdin)
				named := slices.Contains(paths, names[i])
				if err == nil && named && len(bytes.TrimSpace(data)) == 0 {
					err = fmt.Errorf("manifest: %s: it is empty; what was to write it may have failed", names[i])
				}
				parts[i], failed[i] = Parse(names[i], data), err
				if !named {
					parts[i].skipForeign(names[i])
				}
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
	all := &Set{}
	for _, p := range parts {
		all.Objects = append(all.Objects, p.Objects...)
		all.Problems = append(all.Problems, p.Problems...)
		all.Skipped += p.Skipped
	}
	return all, nil
}

func list(path string) ([]string, error) {
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
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".yaml", ".yml", ".json", ".txt"}, filepath.Ext(name)) {
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if info, err = os.Stat(name); err != nil {
				return err
			}
			d = fs.FileInfoToDirEntry(info)
		}
		if d.Type().IsRegular() {
			names = append(names, filepath.Join(path, strings.TrimPrefix(name, root)))
		}
		return nil
	})
	if err == nil && len(names) == 0 {
		// A check that passes since it was pointed elsewhere is worse than none.
		err = fmt.Errorf("manifest: %s: no file in it ends in yaml, yml, json or txt", path)
	}
	return names, err
}

func readFile(name string, stdin io.Reader) ([]byte, error) {
	in := stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("manifest: %s: more than %d bytes", name, maxFile)
	}
	return data, nil
}

// skipForeign drops what a file that nobody named has beside manifests. It is
// tempting to do so with all that does not parse, but then a manifest that is broken
// is one that holds.
func (s *Set) skipForeign(name string) {
	before := len(s.Problems)
	s.Problems = slices.DeleteFunc(s.Problems, func(p Problem) bool {
		return p.foreign || filepath.Ext(name) == ".txt" && len(s.Objects) == 0
	})
	s.Skipped += before - len(s.Problems)
}

// Parse reads one input of any known form. What does not read is a Problem.
func Parse(name string, data []byte) *Set {
	s := &Set{}
	if isAdminText(data) {
		s.addText(name, data)
		return s
	}
	line := 0
	for _, doc := range documents(data) {
		s.addDocument(name, doc, line)
		line += bytes.Count(doc, []byte("\n"))
	}
	return s
}

// documents cuts a stream at its "---" lines, which stay with the document they
// begin, so that lines can be counted. It is tempting to leave that to the YAML
// package, but then a mistake in one document hides those after it, and kinds that
// nobody asked for are parsed too.
func documents(data []byte) [][]byte {
	var docs [][]byte
	start := 0
	for at := 0; at < len(data); {
		end := bytes.IndexByte(data[at:], '\n')
		if end < 0 {
			end = len(data) - at - 1
		}
		line := data[at : at+end+1]
		if at > start && bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || strings.ContainsRune(" \t\r\n", rune(line[3]))) {
			docs = append(docs, data[start:at])
			start = at
		}
		at += end + 1
	}
	return append(docs, data[start:])
}
