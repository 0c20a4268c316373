package check

import (
	"slices"
	"strings"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// ControlPlane is the contract's word for what configures proxies.
type ControlPlane = contract.ControlPlane

// policyFor finds what a proxy does with the hosts of a service. What a running
// proxy has been given comes before what a manifest says it should be.
func (w *World) policyFor(host string) *Policy {
	var found *Policy
	for _, o := range w.Manifest.Objects {
		switch v := o.Value.(type) {
		case *manifest.Envoy:
			for _, c := range v.Clusters {
				if !sameHost(manifest.Host(c.GetName()), host) {
					continue
				}
				p := envoyPolicy(o, c, "envoy")
				if v.Running {
					return p
				}
				found = first(found, p)
			}
		case *manifest.DestinationRule:
			if sameHost(v.GetHost(), host) {
				found = first(found, w.istioPolicy(o))
			}
		case *eg.BackendTrafficPolicy:
			if w.targets(v, host) {
				found = first(found, gatewayPolicy(o, v))
			}
		}
	}
	return found
}

// routeFor finds what a proxy does with a call to a service. A gRPC service config
// names no host: it is the program's own, for what it calls by gRPC.
func (w *World) routeFor(host string, grpc bool) *Route {
	var found, attached *Route
	for _, o := range w.Manifest.Objects {
		var r *Route
		running := false
		switch v := o.Value.(type) {
		case *manifest.Envoy:
			for _, config := range v.Routes {
				if r == nil {
					r = envoyRoute(o, config, host, "envoy")
				}
			}
			running = v.Running
		case *manifest.VirtualService:
			r = istioRoute(o, host)
		case *gwv1.HTTPRoute:
			r = httpRoute(o, v, host, w.Plane)
		case *eg.BackendTrafficPolicy:
			if attached == nil && w.targets(v, host) {
				attached = gatewayRoute(o, v)
			}
		case *manifest.ServiceConfig:
			if grpc {
				r = grpcRoute(o, v)
			}
		}
		if r != nil && running {
			return r
		}
		found = first(found, r)
	}
	found = found.filledBy(attached)
	if found == nil && w.Plane == "istio" && w.knows(host) {
		return &Route{Plane: "istio", Implicit: true, Tries: istioTries, Stated: -1, On: istioRetryOn}
	}
	return found
}

// knows reports whether some mesh object speaks of a host, so that the mesh's
// defaults apply to it.
func (w *World) knows(host string) bool { return w.policyFor(host) != nil }

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
		if ruleTo(r, host) < 0 {
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
		return sameHost(name, host) // a service, or a route of its name that was not given
	})
}

// ruleTo is the index of a route's first rule that leads to a host; -1 if none does.
func ruleTo(r *gwv1.HTTPRoute, host string) int {
	return slices.IndexFunc(r.Spec.Rules, func(rule gwv1.HTTPRouteRule) bool {
		return slices.ContainsFunc(rule.BackendRefs, func(b gwv1.HTTPBackendRef) bool { return sameHost(string(b.Name), host) })
	})
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
