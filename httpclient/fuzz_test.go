package httpclient

import (
	"net"
	"net/url"
	"strings"
	"testing"
)

func FuzzTarget(f *testing.F) {
	for _, seed := range []string{
		"https://processor.example", "http://Localhost:8080/", "https://[::1]:443", "http://u:p@x", "ftp://x", "//x", "https://x?q", "https://x:99999", "\x00",
	} {
		f.Add(seed, "eu.example:443", "https://processor.example/pay")
	}
	f.Fuzz(func(t *testing.T, target, host, request string) {
		to, err := parseTarget(target, []string{host})
		if err != nil {
			return
		}
		if to.host != strings.ToLower(to.host) || to.normal(to.host) != to.host {
			t.Errorf("parseTarget(%q).host = %q, want it in normal form", target, to.host)
		}
		if again, err := parseTarget(to.String(), nil); err != nil || again.host != to.host {
			t.Errorf("parseTarget(%q) = %q, %v, want what it was made from", to, again.host, err)
		}
		if _, port, err := net.SplitHostPort(to.dialAddressOf(to.host)); err != nil || port == "" {
			t.Errorf("dialAddressOf(%q) = %q, want one with a port", to.host, to.dialAddressOf(to.host))
		}
		u, err := url.Parse(request)
		if err != nil {
			return
		}
		before := *u
		got, err := to.resolve(u)
		if *u != before {
			t.Errorf("resolve changed %v to %v", &before, u)
		}
		if err != nil {
			return
		}
		if _, own := to.hosts[got.Host]; !own || got.Scheme != to.scheme {
			t.Errorf("resolve(%q) = %v, want only hosts of %v", request, got, to)
		}
	})
}
