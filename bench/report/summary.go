package report

import (
	"bytes"
	"fmt"
)

// A document has a table of the committed results between two comments,
//
//	<!-- bench: begin overload -->
//	<!-- bench: end -->
//
// where the word is the name of the table, or "run" for what was measured where.
// What begins with the name of a folder and a slash is from the report there.
const (
	begin    = "<!-- bench: begin "
	closing  = " -->\n"
	endsHere = "<!-- bench: end -->"
)

// Fill returns a document with what belongs between its comments. One without any
// is a mistake, and so is a table that there is not.
func (r *Report) Fill(document []byte) ([]byte, error) {
	parts := make(map[string]string)
	r.addParts("", parts)
	for folder, other := range r.Others {
		other.addParts(folder+"/", parts)
	}
	var out bytes.Buffer
	rest, filled := document, false
	for {
		before, after, found := bytes.Cut(rest, []byte(begin))
		out.Write(before)
		if !found {
			break
		}
		name, after, found := bytes.Cut(after, []byte(closing))
		if !found {
			return nil, fmt.Errorf("report: %q is not followed by a name and %q", begin, closing)
		}
		part, known := parts[string(name)]
		if !known {
			return nil, fmt.Errorf("report: there is no table %q", name)
		}
		if _, rest, found = bytes.Cut(after, []byte(endsHere)); !found {
			return nil, fmt.Errorf("report: table %q is not followed by %q", name, endsHere)
		}
		out.WriteString(begin + string(name) + closing + part + endsHere)
		filled = true
	}
	if !filled {
		return nil, fmt.Errorf("report: the document has no %q", begin)
	}
	return out.Bytes(), nil
}

func (r *Report) addParts(prefix string, parts map[string]string) {
	parts[prefix+"run"] = r.Run() + "\n"
	for _, t := range r.Tables() {
		parts[prefix+t.Name] = t.Markdown()
	}
}
