package httpclient

import (
	"crypto/tls"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
)

func TestAnOlderTLSThan12IsNotSpoken(t *testing.T) {
	_, err := New("https://upstream.example", capacity.Plan{InFlight: 1}, &Options{
		Base: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS11}},
	})
	if err == nil || !strings.Contains(err.Error(), "TLS 1.2") {
		t.Errorf("New() = %v, want it to name TLS 1.2", err)
	}
}

func TestSizesThatAMistakeOfUnitsMakesAreRefused(t *testing.T) {
	for name, plan := range map[string]capacity.Plan{
		"a deadline in the wrong unit":     {InFlight: 1, Deadline: 60_000 * time.Second},
		"attempts beyond the deadline":     {InFlight: 1, Attempt: 5 * time.Second, Deadline: 3 * time.Second},
		"a wait longer than the attempt":   {InFlight: 1, Wait: 2 * time.Second, Attempt: time.Second},
		"no places":                        {},
		"shared over HTTP/1.1":             {InFlight: 10, Streams: 10},
		"a connect longer than an attempt": {InFlight: 1, Attempt: 500 * time.Millisecond, Deadline: 2 * time.Second},
	} {
		if _, err := New("http://upstream.example", plan, &Options{Connect: time.Second}); err == nil {
			t.Errorf("%s: New() = nil error, want one", name)
		}
		c := newClient(t, "http://upstream.example", capacity.Plan{InFlight: 3}, &Options{Connect: time.Second})
		if err := c.Resize(plan); err == nil || c.Stats().Plan.InFlight != 3 {
			t.Errorf("%s: Resize() = %v, want an error and the old plan", name, err)
		}
	}
}

func TestNewReturnsEveryMistake(t *testing.T) {
	_, err := New("ftp://x.example/path", capacity.Plan{InFlight: -1, Deadline: 60_000 * time.Second}, &Options{
		MaxBody: -7, Connect: -1, Hosts: []string{"a/b"}, WarmPath: "healthz",
	})
	for _, field := range []string{"scheme", "InFlight", "Deadline", "MaxBody", "Connect", "Hosts[0]", "WarmPath", "paths belong"} {
		if err == nil || !contains(err.Error(), field) {
			t.Errorf("New() = %v, want it to name %s", err, field)
		}
	}
}

func TestProtocolsMustSuitTheTarget(t *testing.T) {
	onlyClear := new(http.Protocols)
	onlyClear.SetUnencryptedHTTP2(true)
	for target, p := range map[string]*http.Protocols{
		"https://upstream.example": onlyClear,
		"http://upstream.example":  http2Only(),
		"http://other.example":     new(http.Protocols),
	} {
		if _, err := New(target, capacity.Plan{InFlight: 1}, &Options{Protocols: p}); err == nil || !contains(err.Error(), "Options.Protocols") {
			t.Errorf("New(%q) with %v = %v, want it to name Options.Protocols", target, p, err)
		}
	}
}

func TestATargetThatNobodyCanDialIsRefused(t *testing.T) {
	for target, says := range map[string]string{
		"":                          "scheme",
		"http://":                   "no host",
		"http://a.example:0":        "[1, 65535]",
		"https://a.example:99999":   "[1, 65535]",
		"ftp://me:secret@a.example": "scheme",
	} {
		_, err := New(target, capacity.Plan{InFlight: 1}, &Options{Hosts: []string{"b.example:70000"}})
		if err == nil || !contains(err.Error(), says) || !contains(err.Error(), "Hosts[0]") || contains(err.Error(), "secret") {
			t.Errorf("New(%q) = %v, want it to say %q, to name Hosts[0], and no password", target, err, says)
		}
	}
	_, err := New("http://a.example", capacity.Plan{InFlight: 1}, &Options{Name: "\xff", Registerer: prometheus.NewRegistry()})
	if err == nil || !contains(err.Error(), "Options.Name") || !contains(err.Error(), "UTF-8") {
		t.Errorf("New(Name \"\\xff\") = %v, want it to name Options.Name and UTF-8", err)
	}
}
