package httpclient

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// target is an upstream's own address and its further hosts. A request to any
// other is refused: sizes, labels and credentials are for this upstream only.
type target struct {
	scheme string
	host   string              // lower case, with a port only if it is not the scheme's own
	hosts  map[string]struct{} // host included
}

func parseTarget(raw string, further []string) (target, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return target{}, fmt.Errorf("target: %w", err)
	}
	t := target{scheme: strings.ToLower(u.Scheme), hosts: make(map[string]struct{}, 1+len(further))}
	var errs []error
	if t.scheme != "http" && t.scheme != "https" {
		errs = append(errs, fmt.Errorf("target: %q has no scheme http or https; one like %q would do", u.Redacted(), exampleTarget))
	} else if u.Hostname() == "" {
		errs = append(errs, fmt.Errorf("target: %q has no host; one like %q would do", u.Redacted(), exampleTarget))
	}
	if !validPort(u.Port()) {
		errs = append(errs, fmt.Errorf("target: port %s is not in [1, 65535]; none is the scheme's own", u.Port()))
	}
	if !isASCII(u.Hostname()) {
		errs = append(errs, fmt.Errorf("target: %q is not ASCII; write it as DNS has it, as %q for bücher.example", u.Hostname(), "xn--bcher-kva.example"))
	}
	if u.User != nil {
		errs = append(errs, fmt.Errorf("target: %q has a user in it; credentials belong into a header, by Options.Wrap", u.Redacted()))
	}
	if (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("target: %q has more than a host; paths belong to requests", u.Redacted()))
	}
	t.host = t.normal(u.Host)
	t.hosts[t.host] = struct{}{}
	for i, h := range further {
		if v, err := url.Parse("//" + h); err != nil || v.Host != h || v.Hostname() == "" || !isASCII(h) || !validPort(v.Port()) {
			errs = append(errs, fmt.Errorf("Options.Hosts[%d]: %q is not a host or host:port; one like %q would do", i, h, "eu.processor.example"))
			continue
		}
		t.hosts[t.normal(h)] = struct{}{}
	}
	return t, errors.Join(errs...)
}

const exampleTarget = "https://processor.example"

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// validPort says whether a port can be dialed; none can.
func validPort(port string) bool {
	n, err := strconv.Atoi(port)
	return port == "" || err == nil && n >= 1 && n <= 65535
}

// normal is a host in the one form that net/http's pool sees: it would make a
// pool for each spelling.
func (t target) normal(host string) string {
	host = strings.ToLower(host)
	if t.scheme == "https" {
		return strings.TrimSuffix(host, ":443")
	}
	return strings.TrimSuffix(host, ":80")
}

// resolve returns the URL to send u to: u itself if it is in normal form, or a
// copy. A relative one is taken as the target's.
func (t target) resolve(u *url.URL) (*url.URL, error) {
	if u == nil {
		return nil, errors.New("httpclient: nil Request.URL")
	}
	if u.Scheme == t.scheme && u.Host == t.host {
		return u, nil
	}
	normal := *u
	if u.Scheme == "" && u.Host == "" {
		normal.Scheme, normal.Host = t.scheme, t.host
		return &normal, nil
	}
	normal.Scheme, normal.Host = strings.ToLower(u.Scheme), t.normal(u.Host)
	if _, own := t.hosts[normal.Host]; !own || normal.Scheme != t.scheme {
		return nil, &HostError{Upstream: t.String(), Refused: u.Scheme + "://" + u.Host}
	}
	return &normal, nil
}

// String is the target as a URL.
func (t target) String() string { return t.scheme + "://" + t.host }

// hostPort splits the target.
func (t target) hostPort() (string, int) {
	u := url.URL{Host: t.host}
	if port, err := strconv.Atoi(u.Port()); err == nil {
		return u.Hostname(), port
	}
	if t.scheme == "https" {
		return u.Hostname(), 443
	}
	return u.Hostname(), 80
}

// dialAddressOf adds the port of the scheme to a host in normal form.
func (t target) dialAddressOf(host string) string {
	u := url.URL{Host: host}
	switch {
	case u.Port() != "":
		return host
	case t.scheme == "https":
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return net.JoinHostPort(u.Hostname(), "80")
}

// names are the hosts, the target's own first.
func (t target) names() []string {
	names := []string{t.host}
	for name := range t.hosts {
		if name != t.host {
			names = append(names, name)
		}
	}
	return names
}
