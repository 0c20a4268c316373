// Package redact makes the text of an error fit to be shown to people.
package redact

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest bounds what an error may say, in bytes.
const longest = 300

// Text is the text of an error without what addresses in it say of users, paths
// and queries, without control characters, and of at most 300 bytes and an
// ellipsis. It errs on the side of cutting too much. What it returns, it leaves as
// it is.
func Text(text string) string {
	var b strings.Builder
	for rest := text; rest != ""; {
		before, after, found := strings.Cut(rest, "://")
		b.WriteString(before)
		if !found {
			break
		}
		address := after
		if end := strings.IndexFunc(after, endsAddress); end >= 0 {
			address = after[:end]
		}
		b.WriteString("://")
		b.WriteString(bare(address))
		rest = after[len(address):]
	}
	return shorten(strings.Map(visible, strings.ToValidUTF8(b.String(), "�")))
}

// endsAddress is what ends an address within a sentence.
func endsAddress(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'<>`+"`", r) }

// bare is the host of an address: a path can be as secret as a query, and so can
// a user. Where an @ comes late, nobody can tell what was meant to be the host.
func bare(address string) string {
	host, rest := address, ""
	if i := strings.IndexAny(address, "/?#"); i >= 0 {
		host, rest = address[:i], address[i:]
	}
	if strings.Contains(rest, "@") {
		return "…"
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	if len(rest) > 1 {
		host += "/…"
	}
	return host
}

func visible(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return ' '
}

// shorten cuts between runes.
func shorten(text string) string {
	if len(text) <= longest {
		return text
	}
	end := longest
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
