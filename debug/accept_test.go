package debug

import "testing"

func TestTheFormIsWhatIsPreferredByName(t *testing.T) {
	for header, want := range map[string]string{
		"":    "",
		"*/*": "",
		"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8": "text/html",
		"application/json":                        "application/json",
		"text/html;q=0.5, application/json":       "application/json",
		"application/json;q=0.5, text/plain":      "",
		"text/event-stream":                       "text/event-stream",
		"application/json;q=none, text/html;q=.1": "text/html",
		"application/json;q=0":                    "",
		"application/json;q=NaN":                  "",
		";;;, text/html":                          "text/html",
		"TEXT/HTML":                               "text/html",
	} {
		if got := accepted([]string{header}); got != want {
			t.Errorf("accepted(%q) = %q, want %q", header, got, want)
		}
	}
	if got, want := accepted([]string{"text/plain;q=0.1", "application/json"}), "application/json"; got != want {
		t.Errorf("accepted(two headers) = %q, want %q", got, want)
	}
}

func FuzzAccepted(f *testing.F) {
	f.Add("text/html, application/json;q=0.9")
	f.Add("*/*;q=NaN")
	f.Fuzz(func(t *testing.T, header string) {
		switch got := accepted([]string{header}); got {
		case "", "text/html", "application/json", "text/event-stream":
		default:
			t.Errorf("accepted(%q) = %q, which is no form of the page", header, got)
		}
	})
}
