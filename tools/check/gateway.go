package check

import (
	"strconv"
	"strings"
	"time"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// envoyTimeout is Envoy's route timeout where nobody states one, in seconds.
const envoyTimeout = 15

// Envoy Gateway's defaults: its own, not Envoy's.
const (
	gatewayInterval   = 3
	gatewayRetries    = 2
	gatewayMaxRetries = 1024
	gatewayRetryOn    = "connect-failure,refused-stream,unavailable,cancelled,retriable-status-codes,503"
)

// gatewayPolicy reads Envoy Gateway's BackendTrafficPolicy.
func gatewayPolicy(o *manifest.Object, b *eg.BackendTrafficPolicy) *Policy {
	p := &Policy{Ref: o.Ref, Object: o, Plane: "envoy-gateway", MaxConnections: 1024, MaxRequests: 1024, MaxPending: 1024, MaxRetries: gatewayMaxRetries, ConnectTimeout: 10}
	if t := b.Spec.Timeout; t != nil && t.TCP != nil {
		p.ConnectTimeout = gatewaySeconds(t.TCP.ConnectTimeout, 10)
	}
	if c := b.Spec.CircuitBreaker; c != nil {
		p.MaxConnections, p.MaxRequests = deref(c.MaxConnections, 1024), deref(c.MaxParallelRequests, 1024)
		p.MaxPending, p.MaxRetries = deref(c.MaxPendingRequests, 1024), deref(c.MaxParallelRetries, gatewayMaxRetries)
		if b := c.RetryBudget; b != nil {
			percent := 100 * float64(b.Percent.Numerator) / float64(max(deref(b.Percent.Denominator, 100), 1))
			p.Budget = &Budget{Percent: &percent, Min: deref(b.MinRetryConcurrency, 3), Ref: o.At("spec", "circuitBreaker", "retryBudget")}
		}
	}
	h := b.Spec.HealthCheck
	if h == nil {
		return p
	}
	if h.PanicThreshold != nil {
		percent := int(*h.PanicThreshold)
		p.Panic = &percent
	}
	if od := h.Passive; od != nil {
		path := []string{"spec", "healthCheck", "passive"}
		d := &Detector{
			Consecutive5xx: deref(od.Consecutive5xxErrors, 5), Gateway: deref(od.ConsecutiveGatewayErrors, 0), LocalOrigin: deref(od.ConsecutiveLocalOriginFailures, 0),
			Interval: gatewaySeconds(od.Interval, gatewayInterval), Base: gatewaySeconds(od.BaseEjectionTime, 30),
			Max: deref(od.MaxEjectionPercent, 10), Ref: o.At(path...), Fields: o.Keys(path...),
		}
		d.Split = od.SplitExternalLocalOriginErrors != nil && *od.SplitExternalLocalOriginErrors
		d.AlwaysOne = od.AlwaysEjectOneEndpoint != nil && *od.AlwaysEjectOneEndpoint
		if od.MaxEjectionPercent != nil {
			stated := int(*od.MaxEjectionPercent)
			d.Stated = &stated
		}
		if d.Max == 0 {
			d.Max = 10
		}
		for _, u := range o.Unknown {
			if name, ok := strings.CutPrefix(u, strings.Join(path, ".")+"."); ok {
				d.Unknown = append(d.Unknown, name)
			}
		}
		if !d.off() {
			p.Detector = d
		}
	}
	return p
}

// httpRoutes reads the rules of a Gateway API route that lead to a host.
func httpRoutes(o *manifest.Object, r *gwv1.HTTPRoute, host string, plane ControlPlane) []*Route {
	var all []*Route
	for i, rule := range r.Spec.Rules {
		if ruleTo(o, rule, host) {
			all = append(all, httpRoute(o, i, rule, plane))
		}
	}
	return all
}

func httpRoute(o *manifest.Object, i int, rule gwv1.HTTPRouteRule, plane ControlPlane) *Route {
	route := &Route{Ref: o.At("spec", "rules", index(i)), Plane: plane, Tries: 1, Stated: -1, On: gatewayRetryOn, Implicit: true}
	switch plane {
	case "istio":
		route.On, route.Tries = istioRetryOn, istioTries
	case "envoy-gateway", "envoy", "contour":
		route.Timeout = envoyTimeout
	}
	route.Unknown = plane == ""
	if t := rule.Timeouts; t != nil {
		route.PerTry = gatewaySeconds(t.BackendRequest, 0)
		if t.Request != nil {
			route.Timeout, route.Implicit, route.Unknown = gatewaySeconds(t.Request, 0), false, false
		}
	}
	if rule.Retry == nil {
		// Without a retry stanza backendRequest bounds the whole.
		if route.PerTry > 0 && (route.Timeout == 0 || route.Implicit || plane == "istio" || plane == "envoy-gateway") {
			route.Timeout, route.PerTry, route.Implicit, route.Unknown = route.PerTry, 0, false, false
		}
		return route
	}
	route.Stated = gatewayRetries
	if rule.Retry.Attempts != nil {
		route.Stated = *rule.Retry.Attempts
	}
	route.Tries = route.Stated + 1
	for _, code := range rule.Retry.Codes {
		route.On += "," + strconv.Itoa(int(code))
	}
	return route
}

// filledBy takes from a policy what the route itself leaves open.
func (r *Route) filledBy(policy *Route) *Route {
	if policy == nil {
		return r
	}
	both := *r
	if r.Implicit {
		both.Timeout, both.Implicit, both.Unknown = policy.Timeout, policy.Implicit, false
	}
	if r.Stated < 0 && policy.Stated >= 0 {
		both.Ref, both.Stated, both.Tries, both.On, both.PerTry = policy.Ref, policy.Stated, policy.Tries, policy.On, policy.PerTry
	}
	return &both
}

// gatewayRoute reads the retries and timeouts of a BackendTrafficPolicy.
func gatewayRoute(o *manifest.Object, b *eg.BackendTrafficPolicy) *Route {
	if b.Spec.Retry == nil && (b.Spec.Timeout == nil || b.Spec.Timeout.HTTP == nil) {
		return nil
	}
	route := &Route{Ref: o.At("spec"), Plane: "envoy-gateway", Timeout: envoyTimeout, Implicit: true, Tries: 1, Stated: -1}
	if t := b.Spec.Timeout; t != nil && t.HTTP != nil && t.HTTP.RequestTimeout != nil {
		route.Timeout, route.Implicit = gatewaySeconds(t.HTTP.RequestTimeout, envoyTimeout), false
	}
	if r := b.Spec.Retry; r != nil {
		route.Stated, route.On = deref(r.NumRetries, gatewayRetries), gatewayRetryOn
		route.Tries = route.Stated + 1
		if r.PerRetry != nil {
			route.PerTry = gatewaySeconds(r.PerRetry.Timeout, 0)
		}
		if r.RetryOn != nil {
			var on []string
			for _, t := range r.RetryOn.Triggers {
				on = append(on, string(t))
			}
			for _, c := range r.RetryOn.HTTPStatusCodes {
				on = append(on, strconv.Itoa(int(c)))
			}
			route.On = strings.Join(on, ",")
		}
	}
	return route
}

// grpcRoute reads the first method config of a gRPC service config. Its maxAttempts counts the first and is
// capped at five.
func grpcRoute(o *manifest.Object, s *manifest.ServiceConfig) []*Route {
	if len(s.MethodConfig) == 0 {
		return nil
	}
	m := s.MethodConfig[0] // those that follow are for single methods
	route := &Route{Ref: o.At("methodConfig", index(0)), Plane: "grpc", Tries: 1, Stated: -1, Implicit: m.Timeout == ""}
	if d, err := time.ParseDuration(m.Timeout); err == nil {
		route.Timeout = d.Seconds()
	}
	if r := m.RetryPolicy; r != nil {
		route.Stated, route.Tries = r.MaxAttempts, min(r.MaxAttempts, 5)
		route.On = strings.ToLower(strings.ReplaceAll(strings.Join(r.RetryableStatusCodes, ","), "_", "-"))
	}
	return []*Route{route}
}

func gatewaySeconds(d *gwv1.Duration, otherwise float64) float64 {
	if d == nil {
		return otherwise
	}
	v, err := time.ParseDuration(string(*d))
	if err != nil {
		return otherwise
	}
	return v.Seconds()
}

func deref[N int32 | int64 | uint32](v *N, otherwise int) int {
	if v == nil {
		return otherwise
	}
	return int(*v)
}

func index(i int) string { return "[" + strconv.Itoa(i) + "]" }
