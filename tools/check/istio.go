package check

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/durationpb"
	networking "istio.io/api/networking/v1alpha3"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// Istio's defaults that no manifest shows.
const (
	istioRetryOn    = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes"
	istioTries      = 3 // two retries
	istioMaxRetries = 1<<32 - 1
	istioConnect    = 10 // seconds
	istioInterval   = 10
	istioBase       = 30
	istioMaxPercent = 10
	istio5xx        = 5
)

// istioBlocks are the parts of a traffic policy that rules look at, and where the
// first of them stands.
type istioBlocks struct {
	outlier  *networking.OutlierDetection
	pool     *networking.ConnectionPoolSettings
	balancer *networking.LoadBalancerSettings

	budget *networking.TrafficPolicy_RetryBudget

	// These are where the outlier detection and the budget stand, and the narrowest
	// policy.
	outlierAt, budgetAt, at part

	// inSubset and inPort say that there is a narrower policy.
	inSubset, inPort bool
}

// overlay puts what a narrower policy has over what a wider one has, block by block.
// Settings of a port replace all blocks, and those that they leave out are back at
// their defaults.
//
// Source: Istio's MergeTrafficPolicy.
func (b *istioBlocks) overlay(tp part, port int) {
	if tp.TrafficPolicy == nil {
		return
	}
	b.at = tp
	b.inSubset = slices.Contains(tp.path, "subsets")
	if tp.GetRetryBudget() != nil {
		b.budget, b.budgetAt = tp.GetRetryBudget(), tp
	}
	if tp.GetOutlierDetection() != nil {
		b.outlier, b.outlierAt = tp.GetOutlierDetection(), tp
	}
	if tp.GetConnectionPool() != nil {
		b.pool = tp.GetConnectionPool()
	}
	if tp.GetLoadBalancer() != nil {
		b.balancer = tp.GetLoadBalancer()
	}
	for i, p := range tp.GetPortLevelSettings() {
		if port != 0 && int(p.GetPort().GetNumber()) == port {
			at := part{tp.TrafficPolicy, tp.Object, append(slices.Clone(tp.path), "portLevelSettings", index(i)), nil}
			b.outlier, b.pool, b.balancer = p.GetOutlierDetection(), p.GetConnectionPool(), p.GetLoadBalancer()
			b.outlierAt, b.at, b.inPort = at, at, true
			return
		}
	}
}

// istioPolicy reads what the DestinationRules of a host say of one cluster, with what
// the mesh's default policy fills in.
func (w *World) istioPolicy(rules []*manifest.Object, to cluster) *Policy {
	o := rules[0]
	policy := &Policy{Ref: o.Ref, Object: o, Plane: "istio", MaxRetries: istioMaxRetries, ConnectTimeout: istioConnect}
	var b istioBlocks
	all, subsets := merged(rules)
	b.overlay(all, to.port)
	b.overlay(subsets[to.subset], to.port)
	switch {
	case len(b.at.path) > len(all.path):
		policy.Ref = b.at.At(b.at.path...) // of a subset or a port
	case all.Object != nil:
		policy.Ref, policy.Object = all.Ref, all.Object
	}
	for _, config := range w.meshConfigs() {
		if minor, ok := minorOf(w.Version); ok && minor < 31 {
			break // defaultTrafficPolicy came with 1.31
		}
		defaults := config.GetDefaultTrafficPolicy()
		if b.outlier == nil {
			b.outlier = defaults.GetOutlierDetection()
		}
		if b.pool == nil {
			b.pool = defaults.GetConnectionPool()
		}
	}
	if b.outlier != nil {
		at := b.outlierAt
		if at.Object == nil {
			at = part{Object: o, path: []string{"spec", "trafficPolicy"}} // filled in
		}
		policy.Object = at.Object
		policy.Detector = istioDetector(at.Object, b.outlier, append(slices.Clone(at.path), "outlierDetection"))
		policy.MinHealth = int(b.outlier.GetMinHealthPercent())
		if policy.Detector.off() {
			policy.Detector = nil
		}
	}
	istioPool(policy, b.pool)
	if l := b.balancer.GetLocalityLbSetting(); l.GetEnabled() != nil {
		enabled := l.GetEnabled().GetValue()
		policy.Locality = &enabled
	}
	policy.Budget = istioBudget(b)
	return policy
}

// istioBudget is the retry budget of a cluster. Whether a subset that does not repeat
// it still has it is a question of the version.
func istioBudget(blocks istioBlocks) *Budget {
	b, at := blocks.budget, blocks.budgetAt
	if b == nil {
		return nil
	}
	budget := &Budget{Min: int(b.GetMinRetryConcurrency()), InSubset: blocks.inSubset, InPort: blocks.inPort, Ref: at.At(append(slices.Clone(at.path), "retryBudget")...)}
	if budget.Min == 0 {
		budget.Min = 3
	}
	if b.GetPercent() != nil {
		p := b.GetPercent().GetValue()
		budget.Percent = &p
	}
	return budget
}

func istioDetector(o *manifest.Object, od *networking.OutlierDetection, path []string) *Detector {
	d := &Detector{
		Consecutive5xx: istio5xx, Gateway: int(od.GetConsecutiveGatewayErrors().GetValue()),
		LocalOrigin: int(od.GetConsecutiveLocalOriginFailures().GetValue()), Split: od.GetSplitExternalLocalOriginErrors(),
		Interval: seconds(od.GetInterval(), istioInterval), Base: seconds(od.GetBaseEjectionTime(), istioBase),
		Max: int(od.GetMaxEjectionPercent()), Ref: o.At(path...),
	}
	if v := od.GetConsecutive_5XxErrors(); v != nil {
		d.Consecutive5xx = int(v.GetValue())
	}
	for _, c := range od.GetOutlierDetectionHttpErrorCodes() {
		d.Codes = append(d.Codes, int(c))
	}
	prefix := strings.Join(path, ".") + "."
	for _, u := range o.Unknown {
		if name, ok := strings.CutPrefix(strings.ReplaceAll(u, "[", ".["), prefix); ok {
			d.Unknown = append(d.Unknown, name)
		}
	}
	d.Fields = o.Keys(path...)
	for _, old := range []string{"consecutiveErrors", "consecutive_errors"} {
		if slices.Contains(d.Fields, old) { // deprecated, and kept in the API only to be read
			d.Unknown = append(d.Unknown, old)
		}
	}
	if slices.Contains(d.Fields, "maxEjectionPercent") || slices.Contains(d.Fields, "max_ejection_percent") {
		stated := d.Max
		d.Stated = &stated
	}
	if d.Max == 0 { // written or not: 0 is no value to Istio
		d.Max = istioMaxPercent
	}
	return d
}

func istioPool(p *Policy, pool *networking.ConnectionPoolSettings) {
	tcp, http := pool.GetTcp(), pool.GetHttp()
	p.MaxConnections = int(tcp.GetMaxConnections())
	p.MaxRequests = int(http.GetHttp2MaxRequests())
	p.MaxPending = int(http.GetHttp1MaxPendingRequests())
	if n := int(http.GetMaxRetries()); n > 0 {
		p.MaxRetries = n
	}
	p.ConnectTimeout = seconds(tcp.GetConnectTimeout(), istioConnect)
}

// istioRoutes reads the HTTP routes of a VirtualService that lead to a host.
func istioRoutes(o *manifest.Object, host string, inbound bool) []*Route {
	vs := o.Value.(*manifest.VirtualService)
	if !inbound && len(vs.GetGateways()) > 0 && !slices.Contains(vs.GetGateways(), "mesh") {
		return nil // for what comes in by a gateway; the service's own calls do not
	}
	var all []*Route
	for i, r := range vs.GetHttp() {
		var to []cluster
		unweighted := !slices.ContainsFunc(r.GetRoute(), func(d *networking.HTTPRouteDestination) bool { return d.GetWeight() > 0 })
		for _, d := range r.GetRoute() {
			if d.GetWeight() == 0 && !unweighted {
				continue // it gets no requests
			}
			if dest := d.GetDestination(); sameHost(completed(dest.GetHost(), o.Namespace), host) {
				to = append(to, cluster{dest.GetSubset(), int(dest.GetPort().GetNumber())})
			}
		}
		if len(to) > 0 {
			all = append(all, istioRoute(o, i, r, to))
		}
	}
	return all
}

func istioRoute(o *manifest.Object, i int, r *networking.HTTPRoute, to []cluster) *Route {
	route := &Route{
		Ref: o.At("spec", "http", index(i)), Plane: "istio", Timeout: seconds(r.GetTimeout(), 0), Implicit: r.GetTimeout() == nil,
		Tries: istioTries, Stated: -1, On: istioRetryOn, to: to,
	}
	if retry := r.GetRetries(); retry != nil {
		route.Stated = int(retry.GetAttempts())
		route.Tries = route.Stated + 1
		route.PerTry = seconds(retry.GetPerTryTimeout(), 0)
		if retry.GetRetryOn() != "" {
			route.On = retry.GetRetryOn()
		}
	}
	return route
}

func seconds(d *durationpb.Duration, otherwise float64) float64 {
	if d == nil {
		return otherwise
	}
	return d.AsDuration().Seconds()
}
