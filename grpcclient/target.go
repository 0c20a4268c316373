package grpcclient

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"google.golang.org/grpc/resolver"
)

// target is where an upstream is, as grpc-go names it.
type target struct {
	raw    string
	scheme string
	host   string // of the endpoint, without its port; a path for sockets
	port   int    // 0 if there is none
}

// defaultScheme is what grpc.NewClient takes a target without a scheme for.
const defaultScheme = "dns"

const example = "dns:///orders.example:443"

// defaultPort is what the resolver for DNS adds.
const defaultPort = "443"

// parseTarget reads a target. A scheme that nobody resolves is a mistake: grpc-go
// takes it for a host name, and every call fails.
func parseTarget(raw string, further []resolver.Builder) (target, error) {
	u, err := url.Parse(raw)
	if err != nil || !known(u.Scheme, further) && !strings.Contains(raw, "://") {
		if u, err = url.Parse(defaultScheme + ":///" + raw); err != nil {
			return target{}, fmt.Errorf("target: %q: %w; %q would do", shown(raw), reasonOf(err), example)
		}
	}
	t := target{raw: raw, scheme: u.Scheme}
	endpoint := resolver.Target{URL: *u}.Endpoint()
	if !known(t.scheme, further) {
		return t, fmt.Errorf("target: %q has the scheme %q, which nothing resolves; %q would do%s", shown(raw), t.scheme, instead(u), whereIs(t.scheme))
	}
	if strings.Trim(endpoint, "/") == "" {
		return t, fmt.Errorf("target: %q names no upstream; %q would do", shown(raw), example)
	}
	if t.scheme != defaultScheme && t.scheme != "passthrough" {
		t.host = endpoint
		if strings.HasPrefix(u.Path, "/") && t.scheme == "unix" {
			t.host = u.Path
		}
		if host, port, err := net.SplitHostPort(endpoint); err == nil {
			t.host = host
			t.port, _ = strconv.Atoi(port)
		}
		return t, nil
	}
	if t.host, t.port, err = splitEndpoint(endpoint); err != nil {
		return t, fmt.Errorf("target: %q: %w; %q would do", shown(raw), err, example)
	}
	return t, nil
}

// instead is the same upstream by its name, if there is one in it.
func instead(u *url.URL) string {
	name := u.Host
	if name == "" {
		name = strings.Trim(u.Path+u.Opaque, "/")
	}
	if _, _, err := splitEndpoint(name); err != nil {
		return example
	}
	return defaultScheme + ":///" + name
}

// shown is a target without a user and his password, which have no place in it.
func shown(raw string) string {
	i := strings.LastIndexByte(raw, '@')
	if i < 0 {
		return raw
	}
	scheme := ""
	if before, _, ok := strings.Cut(raw[:i], "://"); ok {
		scheme = before + "://"
	}
	return scheme + "…" + raw[i:]
}

// reasonOf is what is wrong with a URL, without its text.
func reasonOf(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// splitEndpoint splits "host:port" or "host".
func splitEndpoint(endpoint string) (string, int, error) {
	host, number, err := net.SplitHostPort(endpoint)
	if err != nil {
		host, number = strings.TrimSuffix(strings.TrimPrefix(endpoint, "["), "]"), defaultPort
	}
	if host == "" || strings.ContainsAny(host, "[]/ ") || strings.Contains(host, ":") && !isIP(host) {
		return "", 0, errors.New("not a host, or a host and a port")
	}
	port, err := strconv.ParseUint(number, 10, 16)
	if err != nil || port == 0 {
		return "", 0, fmt.Errorf("port %q is not in [1, 65535]", number)
	}
	return host, int(port), nil
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func known(scheme string, further []resolver.Builder) bool {
	for _, b := range further {
		if b != nil && b.Scheme() == scheme {
			return true
		}
	}
	return resolver.Get(scheme) != nil
}

// whereIs says what a program has to import for a scheme of grpc-go's own.
func whereIs(scheme string) string {
	switch scheme {
	case "xds", "google-c2p":
		return ", or an import of google.golang.org/grpc/xds"
	}
	return ", or a resolver for it in Options.Resolvers"
}

// brings says whether names of this scheme come with a load-balancing policy, so
// that there is no room for one of ours.
func (t target) brings() bool { return t.scheme == "xds" || t.scheme == "google-c2p" }

// name is the upstream's, if its user gives it none.
func (t target) name() string { return t.host }
