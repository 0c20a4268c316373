package check

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	"github.com/offtake-go/offtake/tools/check/manifest"
)

// hostsOf is the number of pods behind a host, least and most: as a running proxy
// sees them, or as manifests or the contract say.
func (w *World) hostsOf(host string) []int {
	if seen, ok := w.seenHosts(host); ok && seen.Total > 0 {
		return []int{seen.Total}
	}
	own := sameHost(host, w.Service.Name)
	behind := w.behind(host, nil)
	if own && len(behind) < 2 {
		return leastAndMost(w.Service.Min, w.Service.Max)
	}
	return w.countOf(behind)
}

// hostsIn is the number of pods in a subset of a host; nil if no manifest says.
func (w *World) hostsIn(host, subset string) []int {
	if subset == "" {
		return nil
	}
	_, subsets := merged(w.destinationRules(host))
	labels := subsets[subset].labels
	if len(labels) == 0 {
		return nil
	}
	return w.countOf(w.behind(host, labels))
}

// behind are the workloads whose pods have some labels and stand behind a host: those
// that its Service selects, or without one that of its name.
func (w *World) behind(host string, labels map[string]string) []*manifest.Object {
	services := slices.DeleteFunc(manifest.Of[*corev1.Service](w.Manifest), func(s *manifest.Object) bool {
		return len(s.Value.(*corev1.Service).Spec.Selector) == 0 || !sameHost(completed(s.Name, s.Namespace), host)
	})
	var selected, named []*manifest.Object
	for _, o := range w.Manifest.Objects {
		pods := template(o)
		if pods == nil || !hasAll(pods.Labels, labels) {
			continue
		}
		if isBehind(o, host) {
			named = append(named, o)
		}
		if slices.ContainsFunc(services, func(s *manifest.Object) bool {
			return together(s, o) && hasAll(pods.Labels, s.Value.(*corev1.Service).Spec.Selector)
		}) {
			selected = append(selected, o)
		}
	}
	if len(selected) > 0 {
		return selected
	}
	return named[:min(len(named), 1)]
}

// speaksGRPC reports whether all ports of a host's Service are for gRPC, by their
// appProtocol or their name as Istio reads it.
func (w *World) speaksGRPC(host string) bool {
	found := false
	for _, s := range manifest.Of[*corev1.Service](w.Manifest) {
		if !sameHost(completed(s.Name, s.Namespace), host) {
			continue
		}
		for _, p := range s.Value.(*corev1.Service).Spec.Ports {
			protocol, _, _ := strings.Cut(p.Name, "-")
			if p.AppProtocol != nil {
				protocol = strings.TrimPrefix(*p.AppProtocol, "kubernetes.io/")
			}
			if protocol != "grpc" {
				return false
			}
			found = true
		}
	}
	return found
}

// template is that of a workload's pods; nil if it is no workload.
func template(o *manifest.Object) *corev1.PodTemplateSpec {
	switch d := o.Value.(type) {
	case *appsv1.Deployment:
		return &d.Spec.Template
	case *appsv1.StatefulSet:
		return &d.Spec.Template
	case *appsv1.DaemonSet:
		return &d.Spec.Template
	}
	return nil
}

func hasAll(labels, wanted map[string]string) bool {
	for key, value := range wanted {
		if got, ok := labels[key]; !ok || got != value {
			return false
		}
	}
	return true
}

// together reports whether two objects may be in one namespace.
func together(a, b *manifest.Object) bool {
	return a.Namespace == "" || b.Namespace == "" || a.Namespace == b.Namespace
}

// countOf adds up the pods of workloads, least and most; nil if one does not say.
func (w *World) countOf(workloads []*manifest.Object) []int {
	least, most := 0, 0
	for _, o := range workloads {
		n := w.scaled(o)
		if n == nil {
			n = replicasOf(o)
		}
		if n == nil {
			return nil
		}
		least, most = least+n[0], most+n[len(n)-1]
	}
	if most == 0 {
		return nil
	}
	return leastAndMost(least, most)
}

// replicasOf is what a workload itself says; nil if that is nothing, or 0.
func replicasOf(o *manifest.Object) []int {
	var replicas *int32
	switch d := o.Value.(type) {
	case *appsv1.Deployment:
		replicas = d.Spec.Replicas
	case *appsv1.StatefulSet:
		replicas = d.Spec.Replicas
	}
	if replicas == nil || *replicas < 1 {
		return nil
	}
	return []int{int(*replicas)}
}

// isBehind reports whether a workload has the name of a host, in its namespace where
// both say one.
func isBehind(o *manifest.Object, host string) bool {
	_, rest, _ := strings.Cut(host, ".")
	namespace, _, _ := strings.Cut(rest, ".")
	return sameHost(host, o.Name) && (namespace == "" || o.Namespace == "" || namespace == o.Namespace)
}

// scaled is the least and the most pods that an autoscaler gives to a workload; nil
// without one.
func (w *World) scaled(o *manifest.Object) []int {
	for _, a := range manifest.Of[*autoscalingv2.HorizontalPodAutoscaler](w.Manifest) {
		h := a.Value.(*autoscalingv2.HorizontalPodAutoscaler)
		if h.Spec.ScaleTargetRef.Name != o.Name || h.Spec.ScaleTargetRef.Kind != o.Kind || !together(a, o) {
			continue
		}
		return leastAndMost(scales(h))
	}
	return nil
}

// scales are the least and the most replicas that an autoscaler makes. Without
// minReplicas that is 1, the API's default.
func scales(h *autoscalingv2.HorizontalPodAutoscaler) (least, most int) {
	least = 1
	if h.Spec.MinReplicas != nil {
		least = max(int(*h.Spec.MinReplicas), 1)
	}
	return least, max(least, int(h.Spec.MaxReplicas))
}

func leastAndMost(least, most int) []int {
	if most > least {
		return []int{least, most}
	}
	return []int{least}
}
