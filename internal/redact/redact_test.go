package redact

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestAddressesKeepTheirHostAlone(t *testing.T) {
	for text, want := range map[string]string{
		"dial tcp 127.0.0.1:443: connect: connection refused":    "dial tcp 127.0.0.1:443: connect: connection refused",
		`Post "https://user:secret@host/path?token=secret": EOF`: `Post "https://host/…": EOF`,
		"https://host":                     "https://host",
		"https://host/":                    "https://host",
		"https://sec@ret@host:8443":        "https://host:8443",
		"https://user:sec/ret@host":        "https://…",
		"https://host?mail=secret@example": "https://…",
		"https://hooks.example/services/secret and redis://:secret@db": "https://hooks.example/… and redis://db",
		"tab\tbell\a":  "tab bell ",
		"bad \xff end": "bad � end",
	} {
		if got := Text(text); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add(`Get "https://user:pass@host/path?q#f": x`)
	f.Add(strings.Repeat("é", 400))
	f.Add("://@://?://\xff")
	f.Fuzz(func(t *testing.T, text string) {
		got := Text(text)
		if len(got) > longest+len("…") || !utf8.ValidString(got) {
			t.Errorf("Text(%q) = %q: %d bytes, want valid UTF-8 of %d at most", text, got, len(got), longest)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("Text(%q) = %q has a character that does not print at %d", text, got, i)
		}
		for rest := got; ; {
			_, after, found := strings.Cut(rest, "://")
			if !found {
				break
			}
			end := strings.IndexFunc(after, endsAddress)
			if end < 0 {
				end = len(after)
			}
			if strings.ContainsAny(after[:end], "@?#") {
				t.Errorf("Text(%q) = %q leaves a user, a query or a fragment", text, got)
			}
			rest = after
		}
		if again := Text(got); again != got {
			t.Errorf("Text(%q) = %q, and of that %q, want it to stay", text, got, again)
		}
	})
}
