package check

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// A cluster is what a proxy tells apart behind one host: a port, where one is
// known, and a subset, where the hosts are divided.
type cluster struct {
	subset string
	port   int
}

// A way is one that the requests of a call take: what the proxy does with a call,
// and with the hosts it then chooses from.
type way struct {
	route  *Route
	policy *Policy

	// to is where it leads, and led says that a route does: a subset without one has
	// no requests.
	to  cluster
	led bool

	// hosts are those of the subset; nil if they are the call's, or not known.
	hosts []int
}

// findWays finds all ways to a host. Each route is taken with the cluster that it
// leads to; clusters with a policy of their own that no route leads to come after
// them, for the routes may stand in a manifest that was not given.
func (w *World) findWays(c *Call, host string, port int, grpc bool) {
	c.host = host
	routes := w.routesFor(host, grpc, c.Inbound)
	if len(routes) == 0 {
		routes = []*Route{nil}
	}
	if !slices.Contains(w.hosts, host) {
		w.hosts = append(w.hosts, host)
	}
	seen := map[cluster]bool{}
	for _, r := range routes {
		for _, to := range r.leadsTo(port) {
			seen[to] = true
			c.ways = append(c.ways, way{r, w.policyFor(host, to), to, true, w.hostsIn(host, to.subset)})
		}
	}
	for _, to := range w.clustersOf(host, port) {
		if !seen[to] {
			c.ways = append(c.ways, way{routes[0], w.policyFor(host, to), to, false, w.hostsIn(host, to.subset)})
		}
	}
	c.Route, c.Policy = c.ways[0].route, c.ways[0].policy
}

// leadsTo is where a route sends a call to this port; 0 is unknown.
func (r *Route) leadsTo(port int) []cluster {
	if r == nil || len(r.to) == 0 {
		return []cluster{{"", port}}
	}
	all := make([]cluster, len(r.to))
	for i, to := range r.to {
		if to.port == 0 {
			to.port = port
		}
		all[i] = to
	}
	return all
}

// ways are all calls, each as often as there are ways for it.
func (w *World) ways() []Call {
	var all []Call
	for _, c := range w.Calls {
		for _, each := range c.ways {
			c := c
			c.Route, c.Policy = each.route, each.policy
			if each.hosts != nil {
				c.Hosts = each.hosts
			}
			all = append(all, c)
		}
	}
	return all
}

// clustersOf lists the clusters of a host that a DestinationRule has policies of
// their own for. Where the port of a call is known, other ports are none of it.
func (w *World) clustersOf(host string, port int) []cluster {
	var found []cluster
	all, subsets := merged(w.destinationRules(host))
	for _, p := range all.GetPortLevelSettings() {
		if port == 0 {
			found = append(found, cluster{"", int(p.GetPort().GetNumber())})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(subsets)) {
		s := subsets[name]
		if s.TrafficPolicy == nil {
			continue
		}
		found = append(found, cluster{name, port})
		for _, p := range s.GetPortLevelSettings() {
			if port == 0 {
				found = append(found, cluster{name, int(p.GetPort().GetNumber())})
			}
		}
	}
	return found
}

// policyFor finds what a proxy does with the hosts of a cluster. What a running
// proxy has been given comes before what a manifest says it should be.
func (w *World) policyFor(host string, to cluster) *Policy {
	found := w.policyIn(host, to)
	budget := w.constraintOf(host)
	if found == nil && budget != nil && w.Plane == "istio" { // Istio makes a rule of it
		found = &Policy{Ref: budget.Ref, Plane: "istio", MaxRetries: istioMaxRetries, ConnectTimeout: istioConnect}
	}
	if found == nil {
		return nil
	}
	found.Distribution = w.distributed(host)
	if found.Budget == nil && found.Plane == "istio" {
		found.Budget = budget
	}
	return found
}

func (w *World) policyIn(host string, to cluster) *Policy {
	var found *Policy
	for _, o := range w.Manifest.Objects {
		switch v := o.Value.(type) {
		case *manifest.Envoy:
			c := envoyCluster(v, host, to)
			if c == nil {
				continue
			}
			p := envoyPolicy(o, c, "envoy")
			if v.Running {
				return p
			}
			found = first(found, p)
		case *manifest.DestinationRule:
			if found == nil && w.matches(o, host) > 0 {
				found = w.istioPolicy(w.destinationRules(host), to)
			}
		case *eg.BackendTrafficPolicy:
			if found == nil && w.targets(v, host) {
				found = gatewayPolicy(o, v)
			}
		}
	}
	return found
}

// clusterOf reads the name that Istio gives to a cluster of Envoy, such as
// outbound|8080|v2|orders.prod.svc.cluster.local.
func clusterOf(name string) cluster {
	parts := strings.Split(name, "|")
	if len(parts) != 4 {
		return cluster{}
	}
	port, err := strconv.Atoi(parts[1])
	if err != nil {
		return cluster{}
	}
	return cluster{parts[2], port}
}
