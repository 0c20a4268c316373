package manifest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
)

// maxDocument is the most bytes of one document: a dump of a thousand manifests is
// some megabytes, a proxy's configuration some tens.
const maxDocument = 256 << 20

// Parse reads one input of any known form. What does not read is a Problem.
func Parse(name string, data []byte) *Set {
	s, _, err := parse(name, bytes.NewReader(data))
	if err != nil {
		s.unread(name, err)
	}
	return s
}

// parse reads one input document by document; empty says that there was none.
func parse(name string, in io.Reader) (s *Set, empty bool, err error) {
	s, empty = &Set{}, true
	lines := bufio.NewReaderSize(in, 64<<10)
	head, _ := lines.Peek(64 << 10) // what is wrong with it, reading on says
	if isAdminText(head) {
		s.addText(name, lines)
		return s, false, nil
	}
	err = documents(lines, func(doc []byte, line int) {
		if len(bytes.TrimSpace(doc)) > 0 {
			empty = false
			s.addDocument(name, doc, line)
		}
	})
	if err != nil {
		err = fmt.Errorf("manifest: %s: %w", name, err)
	}
	return s, empty, err
}

// documents cuts a stream at its "---" lines, which stay with the document they
// begin, so that lines can be counted. It is tempting to leave that to the YAML
// package, but then a mistake in one document hides those after it, and kinds that
// nobody asked for are parsed too.
func documents(in *bufio.Reader, visit func(doc []byte, line int)) error {
	var doc []byte
	at, begin := 0, 0 // lines, and that with which the document begins
	atStart := true   // of a line: what is read may be a part of it
	for {
		part, err := in.ReadSlice('\n')
		if atStart && begins(part) && len(doc) > 0 {
			visit(doc, begin)
			doc, begin = nil, at
		}
		doc = append(doc, part...)
		if len(doc) > maxDocument {
			return fmt.Errorf("a document of more than %d bytes", maxDocument)
		}
		switch atStart = err == nil; {
		case err == nil:
			at++
		case err == io.EOF:
			visit(doc, begin)
			return nil
		case err != bufio.ErrBufferFull:
			return err
		}
	}
}

// begins reports whether a line begins a document.
func begins(line []byte) bool {
	return bytes.HasPrefix(line, []byte("---")) && (len(line) == 3 || strings.ContainsRune(" \t\r\n", rune(line[3])))
}

// withoutComments is JSON without the comments and the last commas that editors and
// their configurations have, and with all its lines; nil if it begins like no JSON.
func withoutComments(doc []byte) []byte {
	text := bytes.TrimLeft(doc, " \t\r\n")
	if !bytes.HasPrefix(text, []byte("{")) && !bytes.HasPrefix(text, []byte("[")) && !bytes.HasPrefix(text, []byte("//")) && !bytes.HasPrefix(text, []byte("/*")) {
		return nil
	}
	out := bytes.Clone(doc)
	comma := -1 // the last one, if nothing stands behind it
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"' && out[i] != '\n'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			end := commentEnd(out[i:])
			for ; end > 0 && i < len(out); end, i = end-1, i+1 {
				if out[i] != '\n' {
					out[i] = ' '
				}
			}
			i--
		case c == ',':
			comma = i
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
		case !strings.ContainsRune(" \t\r\n", rune(c)):
			comma = -1
		}
	}
	return out
}

// commentEnd is how many bytes the comment has with which a text begins.
func commentEnd(text []byte) int {
	end := []byte("\n")
	if text[1] == '*' {
		end = []byte("*/")
	}
	if i := bytes.Index(text[2:], end); i >= 0 {
		return 2 + i + len(end)
	}
	return len(text)
}
