package check

import (
	"slices"
	"strings"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// findPlane tells the control plane by the objects that were read, if nothing says.
func (w *World) findPlane() {
	set := w.Manifest
	w.Mesh.IsIstio = w.Plane == "istio" || len(manifest.Of[*manifest.DestinationRule](set))+len(manifest.Of[*manifest.VirtualService](set)) > 0
	if w.Plane != "" {
		return
	}
	classes := []ControlPlane{}
	for _, o := range manifest.Of[*gwv1.GatewayClass](set) {
		switch controller := string(o.Value.(*gwv1.GatewayClass).Spec.ControllerName); {
		case strings.HasPrefix(controller, "gateway.envoyproxy.io/"):
			classes = append(classes, "envoy-gateway")
		case strings.HasPrefix(controller, "istio.io/"):
			classes = append(classes, "istio")
		case strings.HasPrefix(controller, "projectcontour.io/"):
			classes = append(classes, "contour")
		}
	}
	switch {
	case w.Mesh.IsIstio:
		w.Plane = "istio"
	case len(classes) == 1:
		w.Plane = classes[0]
	case len(manifest.Of[*eg.BackendTrafficPolicy](set)) > 0:
		w.Plane = "envoy-gateway"
	case len(manifest.Of[*manifest.Envoy](set)) > 0:
		w.Plane = "envoy"
	}
}

// findVersion looks for Istio's version where a cluster shows it: in the tag of a
// proxy's or istiod's image, or in a revision label such as 1-29-2.
func (w *World) findVersion() {
	if w.Version != "" || w.Plane != "istio" {
		return
	}
	for _, o := range w.workloads() {
		t := template(o)
		for _, k := range slices.Concat(t.Spec.InitContainers, t.Spec.Containers) {
			name, tag, _ := strings.Cut(k.Image[strings.LastIndexByte(k.Image, '/')+1:], ":")
			if name == "proxyv2" || name == "pilot" {
				w.version(tag)
			}
		}
		w.version(strings.ReplaceAll(t.Labels["istio.io/rev"], "-", "."))
	}
}

// version takes a version if it reads as one.
func (w *World) version(s string) {
	if _, ok := minorOf(s); ok && w.Version == "" {
		w.Version = s
	}
}

// readMesh brings together what holds for all calls.
func (w *World) readMesh() {
	m, c := &w.Mesh, w.Contract.Mesh
	if c.PanicThreshold != nil {
		percent := int(*c.PanicThreshold*100 + 0.5)
		m.Panic = &percent
	}
	m.Unready, m.Fault, m.Zones = c.Unready, c.Fault.Seconds(), c.Zones
	m.Propagation = 5
	if c.Propagation != 0 {
		m.Propagation = c.Propagation.Seconds()
	}
	m.Distribution = slices.ContainsFunc(manifest.Of[*corev1.Service](w.Manifest), distributes)
	if seen, ok := w.seenHosts(w.Contract.Service); ok {
		m.Unready = max(m.Unready, seen.Unready)
	}
	for _, config := range w.meshConfigs() {
		if l := config.GetLocalityLbSetting(); l.GetEnabled() != nil {
			enabled := l.GetEnabled().GetValue()
			m.Locality = &enabled
		}
	}
}

// distributed reports whether the Service of a host has a trafficDistribution.
func (w *World) distributed(host string) bool {
	return slices.ContainsFunc(manifest.Of[*corev1.Service](w.Manifest), func(o *manifest.Object) bool {
		return distributes(o) && sameHost(completed(o.Name, o.Namespace), host)
	})
}

func distributes(o *manifest.Object) bool {
	s := o.Value.(*corev1.Service)
	return s.Spec.TrafficDistribution != nil || s.Annotations["networking.istio.io/traffic-distribution"] != ""
}

// seenHosts is what a running proxy counts behind a host, from /clusters or /stats.
func (w *World) seenHosts(host string) (manifest.HostCount, bool) {
	matches := func(cluster string) bool { return sameHost(manifest.Host(cluster), host) }
	for _, o := range manifest.Of[*manifest.Hosts](w.Manifest) {
		if count, ok := o.Value.(*manifest.Hosts).Hosts(matches); ok {
			return count, true
		}
	}
	for _, o := range manifest.Of[*manifest.Stats](w.Manifest) {
		if count, ok := o.Value.(*manifest.Stats).Hosts(matches); ok {
			return count, true
		}
	}
	return manifest.HostCount{}, false
}

// meshConfigs are Istio's global configurations that were read.
func (w *World) meshConfigs() []*manifest.MeshConfig {
	var all []*manifest.MeshConfig
	for _, o := range manifest.Of[*manifest.MeshConfig](w.Manifest) {
		if c := o.Value.(*manifest.MeshConfig); c != nil {
			all = append(all, c)
		}
	}
	return all
}

// statsInclusion is which counters the service's proxies export beside Istio's few.
func (w *World) statsInclusion() []string {
	if w.Service.Inclusion != nil {
		return w.Service.Inclusion
	}
	for _, config := range w.meshConfigs() {
		if m := config.GetDefaultConfig().GetProxyStatsMatcher(); m != nil {
			return append(append(m.GetInclusionRegexps(), m.GetInclusionPrefixes()...), m.GetInclusionSuffixes()...)
		}
	}
	return []string{"cluster_manager", "listener_manager", "server", "cluster.xds-grpc", "wasm"}
}

// panicPolicy is what the threshold of a policy follows from.
func (w *World) panicPolicy(p *Policy) PanicPolicy {
	explicit := w.Mesh.Panic
	if explicit == nil {
		explicit = p.Panic
	}
	return PanicPolicy{Outlier: p.Detector != nil, MinHealth: p.MinHealth, Explicit: explicit, Distribution: p.Distribution}
}

// eras are those in which a policy may be interpreted. The version is the control
// plane's, also where the policy comes from a dump of one of its proxies.
func (w *World) eras(p *Policy) []Era {
	plane := w.Plane
	if plane == "" {
		plane = p.Plane
	}
	eras := w.erasOf(plane)
	if d := p.Detector; d != nil && d.AlwaysOne {
		for i := range eras {
			eras[i].Ejector = EnvoyOne
		}
	}
	return eras
}
