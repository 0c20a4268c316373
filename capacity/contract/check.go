package contract

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

// check finds what only the whole can show. The form is already right.
func (c *Contract) check(found *mistakes) {
	add := func(path, format string, args ...any) {
		found.add(&Mistake{c.Position(path), path, fmt.Sprintf(format, args...)})
	}
	if !isName(c.Service) {
		add("service", "%q is not a name; lower-case letters, digits and hyphens would do", brief(c.Service))
	}
	// The replicas are checked with every demand; a service may have none.
	if _, err := c.demand(Upstream{Rate: 1e-3, Latency: time.Millisecond}).Plan(); err != nil {
		c.addSizes(found, "replicas", err)
	}
	if c.Mesh.Version != "" && !isVersion(c.Mesh.Version) {
		add("mesh.version", "%q is not a version; \"1.29\" would do, or \"1.28.9\"", brief(c.Mesh.Version))
	}
	if c.Door != nil {
		if _, err := c.Door.Plan(); err != nil {
			c.addSizes(found, "door", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		c.checkCaller("callers."+name, c.Callers[name], add)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Upstreams)) {
		path := "upstreams." + name
		if c.checkUpstream(path, c.Upstreams[name], add) {
			if _, err := c.Explain(name); err != nil {
				c.addSizes(found, path, err)
			}
		}
	}
}

// isVersion reports whether s begins with two numbers, as 1.29, v1.29.2 and
// 1.29-alpha do. What follows is left to the control plane.
func isVersion(s string) bool {
	major, rest, ok := strings.Cut(strings.TrimPrefix(s, "v"), ".")
	minor := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	return ok && major != "" && strings.Trim(major, "0123456789") == "" && minor != ""
}

func (c *Contract) checkCaller(path string, caller Caller, add func(path, format string, args ...any)) {
	total := Share(0)
	for _, s := range caller.Zones {
		total += s
	}
	if len(caller.Zones) > 0 && (total < 0.999 || total > 1.001) {
		add(path+".zones", "the shares add up to %v; 100%% would do", total)
	}
}

// maxConnections is package capacity's bound on the places of one process.
const maxConnections = 1_000_000

// checkUpstream reports whether there is enough to derive sizes from.
func (c *Contract) checkUpstream(path string, u Upstream, add func(path, format string, args ...any)) bool {
	if problem := targetProblem(u); problem != "" && !hasVariable(u.Target) { // Target judges it where the variable is set
		add(path+".target", "%s", problem)
	}
	if k := u.Client; k != nil {
		for key, n := range map[string]int{"maxConns": k.MaxConns, "maxIdle": k.MaxIdle} {
			if n > maxConnections {
				add(path+".client."+key, "%d connections are more than a process can have; %d would do", n, maxConnections)
			}
		}
	}
	switch {
	case u.InFlight == 0 && u.Rate == 0:
		add(path+".rate", "it is missing; the peak of all replicas, such as 120/s, would do, or inFlight by hand")
	case u.Rate != 0 && u.Latency == 0 && u.P50 == 0 && u.P99 == 0:
		add(path+".latency", "it is missing; the mean, such as 300ms, would do, or p50 and p99")
	default:
		return true
	}
	return false
}

func targetProblem(u Upstream) string {
	if u.Protocol == GRPC {
		for _, scheme := range []string{"grpc://", "grpcs://"} {
			if address, ok := strings.CutPrefix(u.Target, scheme); ok {
				if host, port, err := net.SplitHostPort(address); err != nil || host == "" || port == "" {
					return fmt.Sprintf("%q has no host and port; %sfraud-check:8443 would do", brief(u.Target), scheme)
				}
				return ""
			}
		}
		if strings.HasPrefix(u.Target, "http://") || strings.HasPrefix(u.Target, "https://") || !strings.Contains(u.Target, ":") {
			return fmt.Sprintf("%q is not a grpc target; fraud-check:8443 would do, or dns:///fraud-check:8443", brief(u.Target))
		}
		return ""
	}
	parsed, err := url.Parse(u.Target)
	if err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return fmt.Sprintf("%q is not an absolute URL; https://processor.example would do", brief(u.Target))
	}
	if parsed.User != nil || strings.TrimPrefix(parsed.Path, "/") != "" || parsed.RawQuery != "" || parsed.Fragment != "" {
		return fmt.Sprintf("%q has more than a host; %s://%s would do, and paths belong to requests", brief(parsed.Redacted()), parsed.Scheme, parsed.Host)
	}
	return ""
}

// addSizes takes the mistakes that package capacity found and points at their
// keys.
func (c *Contract) addSizes(found *mistakes, path string, err error) {
	if _, ok := errors.AsType[*capacity.Infeasible](err); ok {
		return
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, err := range all {
		m, ok := errors.AsType[*capacity.Mistake](err)
		if !ok {
			found.add(&Mistake{c.Position(path), path, err.Error()})
			continue
		}
		key := c.keyOf(m, path)
		found.add(&Mistake{c.Position(key), key, inKeys(m.Problem + "; " + m.Remedy)})
	}
}

// keyOf finds the key of a field: most have its name, some stand elsewhere.
func (c *Contract) keyOf(m *capacity.Mistake, path string) string {
	if m.Type+"."+m.Field == "Demand.Deadline" {
		if name, _ := c.hastiest(); name != "" {
			return "callers." + name + ".deadline"
		}
		return path + ".latency"
	}
	key := keyName(m.Field)
	if strings.HasPrefix(key, "replicas.") {
		return key
	}
	return path + "." + key
}

// keyName is the key of a field of a demand or a plan.
func keyName(field string) string {
	switch field {
	case "Replicas":
		return "replicas.min"
	case "MaxReplicas":
		return "replicas.max"
	case "Surge", "Unavailable", "Draining":
		return "replicas." + strings.ToLower(field)
	case "Warm":
		return "warm.connections"
	}
	return strings.ToLower(field[:1]) + field[1:]
}

// inKeys writes a message of package capacity, which has the names of Go fields, in
// the keys of a file.
func inKeys(message string) string {
	demand, plan := reflect.TypeFor[capacity.Demand](), reflect.TypeFor[capacity.Plan]()
	return regexp.MustCompile(`\b[A-Z]\w*\b`).ReplaceAllStringFunc(message, func(word string) string {
		_, asked := demand.FieldByName(word)
		_, got := plan.FieldByName(word)
		if !asked && !got {
			return word
		}
		return keyName(word)
	})
}

// Position returns where the file has a path such as upstreams.card-processor.rate
// or, if it does not have it, the nearest mapping around it.
func (c *Contract) Position(path string) Position { return c.places.of(path) }
