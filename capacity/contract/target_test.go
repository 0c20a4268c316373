package contract

import (
	"fmt"
	"strings"
	"testing"
)

func targeted(t *testing.T, target, protocol string) (*Contract, error) {
	t.Helper()
	return Parse("offtake.yaml", fmt.Appendf(nil, "service: a\nreplicas: {min: 1}\nupstreams: {card: {target: %q, protocol: %s, inFlight: 1}}\n", target, protocol), "")
}

func TestATargetComesFromTheEnvironmentOfTheService(t *testing.T) {
	set := map[string]string{"CARD_ADDR": "https://card.test", "HOST": "card.test", "PORT": "8443", "EMPTY": "", "BAD": "card", "NESTED": "${HOST}"}
	lookup := func(name string) (string, bool) { v, ok := set[name]; return v, ok }
	for _, tt := range []struct{ target, protocol, stated, want, says string }{
		{"https://card.example", "http1", "https://card.example", "https://card.example", ""},
		{"${CARD_ADDR}", "http1", "${CARD_ADDR}", "https://card.test", ""},
		{"${CARD_ADDR:-https://card.example}", "http1", "https://card.example", "https://card.test", ""},
		{"${NOWHERE:-https://card.example}", "http1", "https://card.example", "https://card.example", ""},
		{"${EMPTY:-https://card.example}", "http1", "https://card.example", "https://card.example", ""},
		{"https://${HOST}:${PORT}", "http1", "https://${HOST}:${PORT}", "https://card.test:8443", ""},
		{"grpc://${HOST}:${PORT:-443}", "grpc", "grpc://${HOST}:443", "grpc://card.test:8443", ""},
		{"${NOWHERE}", "http1", "${NOWHERE}", "", "NOWHERE is not set"},
		{"${EMPTY}", "http1", "${EMPTY}", "", "EMPTY is not set"},
		{"https://${NOWHERE}:${NEITHER}", "http1", "https://${NOWHERE}:${NEITHER}", "", "NEITHER is not set"},
		{"${BAD}", "http1", "${BAD}", "", `"card" is not an absolute URL`},
		{"${NESTED}", "http1", "${NESTED}", "", "not an absolute URL"}, // a value is a value
	} {
		c, err := targeted(t, tt.target, tt.protocol)
		if err != nil {
			t.Errorf("Parse(%s) = %v, want nil", tt.target, err)
			continue
		}
		if got := c.Upstreams["card"].Target; got != tt.stated {
			t.Errorf("Upstream.Target of %s = %q, want %q", tt.target, got, tt.stated)
		}
		got, err := c.Target("card", lookup)
		if got != tt.want || (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Target(%s) = %q, %v, want %q and an error that says %q", tt.target, got, err, tt.want, tt.says)
		}
	}
}

func TestATargetWithAMistakeIsNamed(t *testing.T) {
	for _, tt := range []struct{ target, protocol, says string }{
		{"${CARD-ADDR}", "http1", "no variable"},
		{"${CARD_ADDR", "http1", "no variable"},
		{"${CARD_ADDR:-card}", "http1", "not an absolute URL"},
		{"grpc://fraud", "grpc", "no host and port"},
		{"grpcs://:8443", "grpc", "no host and port"},
		{"grpc://fraud:8443", "http1", "not an absolute URL"},
	} {
		if _, err := targeted(t, tt.target, tt.protocol); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("Parse(%s) = %v, want an error that says %q", tt.target, err, tt.says)
		}
	}
	for _, target := range []string{"grpc://fraud:8443", "grpcs://[::1]:8443", "fraud:8443", "dns:///fraud:8443"} {
		if _, err := targeted(t, target, "grpc"); err != nil {
			t.Errorf("Parse(%s) = %v, want nil", target, err)
		}
	}
}
