package check

import (
	"slices"
	"strconv"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

const envoyMaxRetries = 3

// envoyPolicy reads a cluster with Envoy's own defaults.
func envoyPolicy(o *manifest.Object, c *clusterv3.Cluster, plane ControlPlane) *Policy {
	at := func(key ...string) manifest.Ref {
		return o.At(slices.Concat(o.Value.(*manifest.Envoy).Path(c), key)...)
	}
	p := &Policy{
		Ref: at(), Object: o, Plane: plane, ConnectTimeout: seconds(c.GetConnectTimeout(), 5),
		MaxConnections: 1024, MaxRequests: 1024, MaxPending: 1024, MaxRetries: envoyMaxRetries, // Envoy's defaults
	}
	if t := c.GetCommonLbConfig().GetHealthyPanicThreshold(); t != nil {
		percent := int(t.GetValue())
		p.Panic = &percent
	}
	for _, t := range c.GetCircuitBreakers().GetThresholds() {
		if t.GetPriority() != corev3.RoutingPriority_DEFAULT {
			continue // for the routes that ask for it
		}
		p.MaxConnections = number(t.GetMaxConnections(), 1024)
		p.MaxRequests = number(t.GetMaxRequests(), 1024)
		p.MaxPending = number(t.GetMaxPendingRequests(), 1024)
		p.MaxRetries = number(t.GetMaxRetries(), envoyMaxRetries)
		if b := t.GetRetryBudget(); b != nil {
			p.Budget = &Budget{Min: number(b.GetMinRetryConcurrency(), 3), Ref: at("circuit_breakers")}
			percent := 20.0
			if b.GetBudgetPercent() != nil {
				percent = b.GetBudgetPercent().GetValue()
			}
			p.Budget.Percent = &percent
		}
	}
	if od := c.GetOutlierDetection(); od != nil {
		d := &Detector{
			Consecutive5xx: number(od.GetConsecutive_5Xx(), 5), LocalOrigin: number(od.GetConsecutiveLocalOriginFailure(), 0), Split: od.GetSplitExternalLocalOriginErrors(),
			Interval: seconds(od.GetInterval(), 10), Base: seconds(od.GetBaseEjectionTime(), 30),
			Max: number(od.GetMaxEjectionPercent(), 10), AlwaysOne: od.GetAlwaysEjectOneHost().GetValue(), Ref: at("outlier_detection"),
		}
		if number(od.GetEnforcingConsecutive_5Xx(), 100) == 0 {
			d.Consecutive5xx = 0
		}
		if number(od.GetEnforcingConsecutiveGatewayFailure(), 0) > 0 { // counted, but not enforced, by default
			d.Gateway = number(od.GetConsecutiveGatewayFailure(), 5)
		}
		d.Fields = slices.Concat(o.Keys("outlier_detection"), o.Keys("outlierDetection"))
		p.Detector = d
	}
	return p
}

// envoyCluster is the cluster of a configuration that has a host: of that port and
// subset, or else the first.
func envoyCluster(v *manifest.Envoy, host string, to cluster) *clusterv3.Cluster {
	var found *clusterv3.Cluster
	for _, c := range v.Clusters {
		if !sameHost(manifest.Host(c.GetName()), host) {
			continue
		}
		if of := clusterOf(c.GetName()); of.subset == to.subset && (of.port == to.port || to.port == 0) {
			return c
		}
		found = first(found, c)
	}
	return found
}

// envoyRoutes reads the routes of a configuration that lead to a host.
func envoyRoutes(o *manifest.Object, v *manifest.Envoy, host string, plane ControlPlane) []*Route {
	var all []*Route
	for _, config := range v.Routes {
		for i, vhost := range config.GetVirtualHosts() {
			for j, r := range vhost.GetRoutes() {
				to := clustersTo(r.GetRoute(), host)
				if len(to) == 0 {
					continue
				}
				route := envoyRoute(vhost, r.GetRoute(), plane)
				route.Ref, route.to = o.At(slices.Concat(v.Path(config), []string{"virtual_hosts", index(i), "routes", index(j)})...), to
				all = append(all, route)
			}
		}
	}
	return all
}

// clustersTo are those of a host that an action leads to: its own, or of the weighted
// ones those that get requests.
func clustersTo(action *routev3.RouteAction, host string) []cluster {
	names := []string{action.GetCluster()}
	for _, c := range action.GetWeightedClusters().GetClusters() {
		if c.GetWeight().GetValue() > 0 {
			names = append(names, c.GetName())
		}
	}
	var to []cluster
	for _, name := range names {
		if sameHost(manifest.Host(name), host) {
			to = append(to, clusterOf(name))
		}
	}
	return to
}

func envoyRoute(v *routev3.VirtualHost, action *routev3.RouteAction, plane ControlPlane) *Route {
	route := &Route{
		Plane: plane, Timeout: seconds(action.GetTimeout(), envoyTimeout), Implicit: action.GetTimeout() == nil,
		Tries: 1, Stated: -1,
	}
	retry := action.GetRetryPolicy()
	if retry == nil {
		retry = v.GetRetryPolicy()
	}
	if retry != nil {
		route.Stated = number(retry.GetNumRetries(), 1)
		route.Tries = route.Stated + 1
		route.PerTry = seconds(retry.GetPerTryTimeout(), 0)
		route.On = retry.GetRetryOn()
		for i, code := range retry.GetRetriableStatusCodes() {
			if i == 0 { // it means these, and no others
				route.On = strings.ReplaceAll(route.On, "retriable-status-codes", strconv.Itoa(int(code)))
			} else if strings.Contains(retry.GetRetryOn(), "retriable-status-codes") {
				route.On += "," + strconv.Itoa(int(code))
			}
		}
	}
	return route
}

func number(v *wrapperspb.UInt32Value, otherwise int) int {
	if v == nil {
		return otherwise
	}
	return int(v.GetValue())
}
