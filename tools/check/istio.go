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

// istioPolicy reads a DestinationRule, with what the mesh's default policy fills
// in.
func (w *World) istioPolicy(o *manifest.Object) *Policy {
	rule := o.Value.(*manifest.DestinationRule)
	policy := &Policy{Ref: o.Ref, Object: o, Plane: "istio", MaxRetries: istioMaxRetries, ConnectTimeout: istioConnect}
	tp := rule.GetTrafficPolicy()
	path := []string{"spec", "trafficPolicy"}
	outlier, pool := tp.GetOutlierDetection(), tp.GetConnectionPool()
	for i, s := range rule.GetSubsets() {
		// A subset's block replaces the rule's; the stricter reading is the one that
		// is wrong first.
		if od := s.GetTrafficPolicy().GetOutlierDetection(); od != nil {
			outlier, path = od, []string{"spec", "subsets", index(i), "trafficPolicy"}
		}
	}
	for _, config := range w.meshConfigs() {
		if minor, ok := minorOf(w.Version); ok && minor < 31 {
			break // defaultTrafficPolicy came with 1.31
		}
		defaults := config.GetDefaultTrafficPolicy()
		if outlier == nil {
			outlier = defaults.GetOutlierDetection()
		}
		if pool == nil {
			pool = defaults.GetConnectionPool()
		}
	}
	if outlier != nil {
		policy.Detector = istioDetector(o, outlier, append(path, "outlierDetection"))
		policy.MinHealth = int(outlier.GetMinHealthPercent())
	}
	istioPool(policy, pool)
	if l := tp.GetLoadBalancer().GetLocalityLbSetting(); l.GetEnabled() != nil {
		enabled := l.GetEnabled().GetValue()
		policy.Locality = &enabled
	}
	if b := tp.GetRetryBudget(); b != nil {
		policy.Budget = &Budget{Min: int(b.GetMinRetryConcurrency()), Ref: o.At("spec", "trafficPolicy", "retryBudget")}
		if policy.Budget.Min == 0 {
			policy.Budget.Min = 3
		}
		if b.GetPercent() != nil {
			p := b.GetPercent().GetValue()
			policy.Budget.Percent = &p
		}
		for _, s := range rule.GetSubsets() {
			policy.Budget.InSubset = policy.Budget.InSubset || s.GetTrafficPolicy() != nil && s.GetTrafficPolicy().GetRetryBudget() == nil
		}
	}
	return policy
}

func istioDetector(o *manifest.Object, od *networking.OutlierDetection, path []string) *Detector {
	d := &Detector{
		Consecutive5xx: istio5xx, Gateway: int(od.GetConsecutiveGatewayErrors().GetValue()),
		LocalOrigin: int(od.GetConsecutiveLocalOriginFailures().GetValue()), Split: od.GetSplitExternalLocalOriginErrors(),
		Interval: seconds(od.GetInterval(), istioInterval), Base: seconds(od.GetBaseEjectionTime(), istioBase), Longest: 300,
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
	p.IdleTimeout = seconds(http.GetIdleTimeout(), 3600)
}

// istioRoute reads the route of a VirtualService that leads to a host.
func istioRoute(o *manifest.Object, host string) *Route {
	for i, r := range o.Value.(*manifest.VirtualService).GetHttp() {
		leads := false
		for _, to := range r.GetRoute() {
			leads = leads || sameHost(to.GetDestination().GetHost(), host)
		}
		if !leads {
			continue
		}
		route := &Route{Ref: o.At("spec", "http", index(i)), Plane: "istio", Timeout: seconds(r.GetTimeout(), 0), Tries: istioTries, Stated: -1, On: istioRetryOn}
		route.Implicit = r.GetTimeout() == nil
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
	return nil
}

func seconds(d *durationpb.Duration, otherwise float64) float64 {
	if d == nil {
		return otherwise
	}
	return d.AsDuration().Seconds()
}
