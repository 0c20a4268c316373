package check

import (
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// envoyPolicy reads a cluster with Envoy's own defaults.
func envoyPolicy(o *manifest.Object, c *clusterv3.Cluster, plane ControlPlane) *Policy {
	p := &Policy{
		Ref: o.Ref, Object: o, Plane: plane, ConnectTimeout: seconds(c.GetConnectTimeout(), 5),
		MaxConnections: 1024, MaxRequests: 1024, MaxPending: 1024, MaxRetries: 3, // Envoy's defaults
	}
	if t := c.GetCommonLbConfig().GetHealthyPanicThreshold(); t != nil {
		percent := int(t.GetValue())
		p.Panic = &percent
	}
	p.ActiveChecks = len(c.GetHealthChecks()) > 0
	for _, t := range c.GetCircuitBreakers().GetThresholds() {
		if t.GetPriority() != corev3.RoutingPriority_DEFAULT {
			continue // for the routes that ask for it
		}
		p.MaxConnections = number(t.GetMaxConnections(), 1024)
		p.MaxRequests = number(t.GetMaxRequests(), 1024)
		p.MaxPending = number(t.GetMaxPendingRequests(), 1024)
		p.MaxRetries = number(t.GetMaxRetries(), 3)
		if b := t.GetRetryBudget(); b != nil {
			p.Budget = &Budget{Min: number(b.GetMinRetryConcurrency(), 3), Ref: o.At("circuit_breakers")}
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
			Interval: seconds(od.GetInterval(), 10), Base: seconds(od.GetBaseEjectionTime(), 30), Longest: seconds(od.GetMaxEjectionTime(), 300),
			Max: number(od.GetMaxEjectionPercent(), 10), AlwaysOne: od.GetAlwaysEjectOneHost().GetValue(), Ref: o.At("outlier_detection"),
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
		for _, v := range config.GetVirtualHosts() {
			for _, r := range v.GetRoutes() {
				action := r.GetRoute()
				if action != nil && sameHost(manifest.Host(action.GetCluster()), host) {
					all = append(all, envoyRoute(o, v, action, plane))
				}
			}
		}
	}
	return all
}

func envoyRoute(o *manifest.Object, v *routev3.VirtualHost, action *routev3.RouteAction, plane ControlPlane) *Route {
	route := &Route{
		Ref: o.Ref, Plane: plane, Timeout: seconds(action.GetTimeout(), envoyTimeout), Implicit: action.GetTimeout() == nil,
		Tries: 1, Stated: -1, to: []cluster{clusterOf(action.GetCluster())},
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
	}
	return route
}

func number(v *wrapperspb.UInt32Value, otherwise int) int {
	if v == nil {
		return otherwise
	}
	return int(v.GetValue())
}
