package check

import (
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
			if targets(v, host) {
				found = first(found, gatewayPolicy(o, v))
			}
		}
	}
	return found
}

// routeFor finds what a proxy does with a call to a service. A gRPC service config
// names no host: it is the program's own, for what it calls by gRPC.
func (w *World) routeFor(host string, grpc bool) *Route {
	var found *Route
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
			if targets(v, host) {
				r = gatewayRoute(o, v)
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
	if found == nil && w.Plane == "istio" && w.knows(host) {
		return &Route{Plane: "istio", Implicit: true, Tries: istioTries, Stated: -1, On: istioRetryOn}
	}
	return found
}

// knows reports whether some mesh object speaks of a host, so that the mesh's
// defaults apply to it.
func (w *World) knows(host string) bool { return w.policyFor(host) != nil }

// targets reports whether a policy is attached to a service, or to a route of its
// name.
func targets(b *eg.BackendTrafficPolicy, host string) bool {
	refs := b.Spec.TargetRefs
	for _, t := range refs {
		if sameHost(string(t.Name), host) {
			return true
		}
	}
	t := b.Spec.TargetRef //nolint:staticcheck // deprecated, and still in clusters
	return t != nil && sameHost(string(t.Name), host)
}

func first[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
