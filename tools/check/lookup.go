package check

import (
	"cmp"
	"slices"
	"strings"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// ControlPlane is the contract's word for what configures proxies.
type ControlPlane = contract.ControlPlane

// routesFor finds what a proxy may do with a call to a service: one route for each
// rule that leads there. Which of them a request takes depends on what it asks for,
// so all of them must hold. What a running proxy has been given comes before what a
// manifest says. A gRPC service config names no host: it is the program's own, for
// what it calls by gRPC.
func (w *World) routesFor(host string, grpc, inbound bool) []*Route {
	var found []*Route
	var attached *Route
	kind := ""
	for _, o := range w.Manifest.Objects {
		var all []*Route
		running := false
		switch v := o.Value.(type) {
		case *manifest.Envoy:
			all, running = envoyRoutes(o, v, host, "envoy"), v.Running
		case *manifest.VirtualService:
			all = istioRoutes(o, host, inbound)
		case *gwv1.HTTPRoute:
			if inbound || w.Plane != "istio" || !onlyGateways(v) {
				all = httpRoutes(o, v, host, w.Plane)
			}
		case *eg.BackendTrafficPolicy:
			if attached == nil && w.targets(v, host) {
				attached = gatewayRoute(o, v)
			}
		case *manifest.ServiceConfig:
			if grpc {
				all = grpcRoute(o, v)
			}
		}
		if len(all) > 0 && running {
			return all
		}
		// Another kind of object is another layer; of those the first is taken.
		if len(all) > 0 && (kind == "" || kind == o.Kind) {
			found, kind = append(found, all...), o.Kind
		}
	}
	for i := range found {
		found[i] = w.byMesh(found[i].filledBy(attached))
	}
	switch {
	case len(found) > 0:
		return found
	case attached != nil:
		return []*Route{attached}
	case w.Plane == "istio" && w.knows(host):
		return []*Route{w.byMesh(&Route{Plane: "istio", Implicit: true, Tries: istioTries, Stated: -1, On: istioRetryOn})}
	}
	return nil
}

// byMesh puts the mesh's own default in the place of Istio's where a route says
// nothing of retries.
func (w *World) byMesh(r *Route) *Route {
	if r.Plane != "istio" || r.Stated >= 0 {
		return r
	}
	for _, config := range w.meshConfigs() {
		if d := config.GetDefaultHttpRetryPolicy(); d != nil {
			r.Tries, r.PerTry = int(d.GetAttempts())+1, seconds(d.GetPerTryTimeout(), 0)
			r.On = cmp.Or(d.GetRetryOn(), r.On)
		}
	}
	return r
}

// knows reports whether some mesh object speaks of a host, so that the mesh's
// defaults apply to it.
func (w *World) knows(host string) bool { return w.policyFor(host, cluster{}) != nil }

// targets reports whether a policy is attached to a service, to a route that leads
// to it, or to the gateway of such a route.
func (w *World) targets(b *eg.BackendTrafficPolicy, host string) bool {
	names := []string{}
	for _, t := range b.Spec.TargetRefs {
		names = append(names, string(t.Kind)+"/"+string(t.Name))
	}
	if t := b.Spec.TargetRef; t != nil { //nolint:staticcheck // deprecated, and still in clusters
		names = append(names, string(t.Kind)+"/"+string(t.Name))
	}
	for _, o := range manifest.Of[*gwv1.HTTPRoute](w.Manifest) {
		r := o.Value.(*gwv1.HTTPRoute)
		if !slices.ContainsFunc(r.Spec.Rules, func(rule gwv1.HTTPRouteRule) bool { return ruleTo(o, rule, host) }) {
			continue
		}
		if slices.Contains(names, "HTTPRoute/"+r.Name) {
			return true
		}
		for _, parent := range r.Spec.ParentRefs {
			if slices.Contains(names, "Gateway/"+string(parent.Name)) {
				return true
			}
		}
	}
	return slices.ContainsFunc(names, func(name string) bool {
		_, name, _ = strings.Cut(name, "/")
		return sameHost(completed(name, b.Namespace), host) // a service, or a route of its name that was not given
	})
}

// onlyGateways reports whether a route is for what comes in by gateways alone.
func onlyGateways(r *gwv1.HTTPRoute) bool {
	return len(r.Spec.ParentRefs) > 0 && !slices.ContainsFunc(r.Spec.ParentRefs, func(p gwv1.ParentReference) bool {
		return p.Kind != nil && *p.Kind != "Gateway"
	})
}

// ruleTo reports whether a rule of a route leads to a host.
func ruleTo(o *manifest.Object, rule gwv1.HTTPRouteRule, host string) bool {
	return slices.ContainsFunc(rule.BackendRefs, func(b gwv1.HTTPBackendRef) bool {
		if b.Weight != nil && *b.Weight == 0 {
			return false // it gets no requests
		}
		namespace := o.Namespace
		if b.Namespace != nil {
			namespace = string(*b.Namespace)
		}
		return sameHost(completed(string(b.Name), namespace), host)
	})
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
