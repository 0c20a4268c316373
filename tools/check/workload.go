package check

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/tools/check/manifest"
)

// readService brings together the contract's own pods and their manifests.
func (w *World) readService() {
	c := w.Contract
	s := &w.Service
	*s = Service{
		Name: c.Service, Ref: w.at("replicas"), Min: c.Replicas.Min, Max: max(c.Replicas.Max, c.Replicas.Min), Draining: c.Replicas.Draining,
		Start: c.Start.Time.Seconds(), Warm: c.Start.Warm.Seconds(), Answers: c.Start.Answers, Gated: c.Start.Ready != "process",
		Grace: 30, DoorRef: w.at("door"), Workload: c.Service, surge: c.Replicas.Surge, unavailable: c.Replicas.Unavailable,
	}
	if s.Answers == "" {
		s.Answers = "queue"
	}
	w.home = w.namespace
	if o := w.workload(); o != nil {
		w.home = cmp.Or(w.home, o.Namespace)
		s.Workload, s.Known, s.Ref = o.Name, true, o.Ref
		n := replicasOf(o)
		if len(w.versions) > 1 {
			n = w.countOf(w.versions)
		}
		if n != nil {
			s.runs = n
			s.Min = n[0]
			s.Max = max(s.Max, n[len(n)-1])
		}
		switch d := o.Value.(type) {
		case *appsv1.Deployment:
			s.readRollout(d.Spec.Strategy)
			s.MinReady = float64(d.Spec.MinReadySeconds)
		case *appsv1.DaemonSet:
			s.surge, s.unavailable = capacity.Pods{}, capacity.Pods{Count: 1} // by default
			if r := d.Spec.UpdateStrategy.RollingUpdate; r != nil {
				s.surge, s.unavailable = podsOf(r.MaxSurge, s.surge), podsOf(r.MaxUnavailable, s.unavailable)
			}
			s.MinReady = float64(d.Spec.MinReadySeconds)
		case *appsv1.StatefulSet:
			s.surge, s.unavailable = capacity.Pods{}, capacity.Pods{Count: 1} // by default
			s.MinReady = float64(d.Spec.MinReadySeconds)
		}
		w.readPod(o, template(o))
	}
	w.readAutoscaler()
	s.Extra, _ = capacity.RolloutPods(s.Max, s.surge, s.unavailable)
	_, s.Missing = capacity.RolloutPods(s.Min, s.surge, s.unavailable)
	w.readDoor()
}

// batch is how many of some replicas a rollout replaces at once.
func (s Service) batch(replicas int) int {
	extra, missing := capacity.RolloutPods(replicas, s.surge, s.unavailable)
	return extra + missing
}

// workload finds the workload of the service: the one of its name,
// or what its Service selects. Two namespaces may have one each; it is
// tempting to take the first, but a report on the wrong pods looks like any other.
func (w *World) workload() *manifest.Object {
	var found *manifest.Object
	for _, o := range w.workloads() {
		switch {
		case o.Name != w.Contract.Service || !w.inNamespace(o):
		case found == nil:
			found = o
		case found.Namespace != o.Namespace:
			w.ambiguous = append(w.ambiguous, manifest.Problem{Ref: o.Ref, Object: o.String(), Text: say(
				"%v is in the namespaces %s and %s; -namespace %s would do, or manifests of one", o, found.Namespace, o.Namespace, found.Namespace)})
		}
	}
	if found == nil {
		// Several are versions of it: their pods are alike, and count together.
		if w.versions = w.behind(completed(w.Contract.Service, w.namespace), nil); len(w.versions) > 0 {
			return w.versions[0]
		}
	}
	return found
}

func (w *World) workloads() []*manifest.Object {
	return slices.Concat(manifest.Of[*appsv1.Deployment](w.Manifest), manifest.Of[*appsv1.StatefulSet](w.Manifest), manifest.Of[*appsv1.DaemonSet](w.Manifest))
}

// inNamespace reports whether an object may be the service's own.
func (w *World) inNamespace(o *manifest.Object) bool {
	return w.namespace == "" || o.Namespace == "" || o.Namespace == w.namespace
}

// readRollout reads how a Deployment replaces its pods.
func (s *Service) readRollout(strategy appsv1.DeploymentStrategy) {
	if strategy.Type == appsv1.RecreateDeploymentStrategyType {
		s.surge, s.unavailable = capacity.Pods{}, capacity.Pods{Percent: 100}
		return
	}
	s.surge, s.unavailable = capacity.Pods{Percent: 25}, capacity.Pods{Percent: 25}
	if r := strategy.RollingUpdate; r != nil {
		s.surge, s.unavailable = podsOf(r.MaxSurge, s.surge), podsOf(r.MaxUnavailable, s.unavailable)
	}
}

// podsOf reads an IntOrString; a percentage that does not read is the default.
func podsOf(v *intstr.IntOrString, otherwise capacity.Pods) capacity.Pods {
	if v == nil {
		return otherwise
	}
	var p capacity.Pods
	if err := p.UnmarshalText([]byte(v.String())); err != nil {
		return otherwise
	}
	return p
}

func (w *World) readPod(o *manifest.Object, t *corev1.PodTemplateSpec) {
	s := &w.Service
	if t.Spec.TerminationGracePeriodSeconds != nil {
		s.Grace = float64(*t.Spec.TerminationGracePeriodSeconds)
	}
	if text, ok := t.Annotations["proxy.istio.io/config"]; ok {
		var config struct {
			ProxyStatsMatcher struct {
				InclusionRegexps  []string `yaml:"inclusionRegexps"`
				InclusionPrefixes []string `yaml:"inclusionPrefixes"`
			} `yaml:"proxyStatsMatcher"`
		}
		if yaml.Unmarshal([]byte(text), &config) == nil {
			s.Inclusion = append(config.ProxyStatsMatcher.InclusionRegexps, config.ProxyStatsMatcher.InclusionPrefixes...)
			s.StatsRef = o.At("spec", "template", "metadata", "annotations", "proxy.istio.io/config")
		}
	}
	i := mainContainer(t.Spec.Containers, s.Name)
	if i < 0 {
		return
	}
	k := t.Spec.Containers[i]
	at := func(key string) manifest.Ref {
		return o.At("spec", "template", "spec", "containers", "["+strconv.Itoa(i)+"]", key)
	}
	s.Probes = Probes{probeOf(k.ReadinessProbe, at("readinessProbe")), probeOf(k.LivenessProbe, at("livenessProbe")), probeOf(k.StartupProbe, at("startupProbe"))}
	if r := s.Probes.Readiness; r == nil || s.Probes.Liveness != nil && r.Target == s.Probes.Liveness.Target {
		// Ready when it listens, or by the same question as alive: no gate.
		s.Gated = false
	}
	if k.Lifecycle != nil && k.Lifecycle.PreStop != nil {
		s.PreStop, s.Drains = preStopOf(k.Lifecycle.PreStop)
	}
}

// mainContainer is the one that has the service's name, or else the first that is
// no sidecar.
func mainContainer(all []corev1.Container, name string) int {
	first := -1
	for i, k := range all {
		if k.Name == name {
			return i
		}
		if first < 0 && k.Name != "istio-proxy" {
			first = i
		}
	}
	return first
}

func probeOf(p *corev1.Probe, at manifest.Ref) *Probe {
	if p == nil {
		return nil
	}
	out := &Probe{Delay: float64(p.InitialDelaySeconds), Period: float64(p.PeriodSeconds), Timeout: float64(p.TimeoutSeconds), Failures: int(p.FailureThreshold), Ref: at}
	if out.Period == 0 {
		out.Period = 10
	}
	if out.Timeout == 0 {
		out.Timeout = 1
	}
	if out.Failures == 0 {
		out.Failures = 3
	}
	switch {
	case p.HTTPGet != nil:
		out.Target = p.HTTPGet.Port.String() + p.HTTPGet.Path
	case p.GRPC != nil:
		out.Target = strconv.Itoa(int(p.GRPC.Port))
		if s := p.GRPC.Service; s != nil {
			out.Target += "/" + *s
		}
	case p.TCPSocket != nil:
		out.Target = "tcp:" + p.TCPSocket.Port.String()
	case p.Exec != nil:
		out.Target = strings.Join(p.Exec.Command, " ")
	}
	return out
}

// preStopOf is how long a hook sleeps, by its own word or by the command sleep, and
// whether it does something else, whose time nobody knows.
func preStopOf(h *corev1.LifecycleHandler) (seconds float64, unknown bool) {
	if h.Sleep != nil {
		return float64(h.Sleep.Seconds), false
	}
	if h.Exec == nil {
		return 0, true
	}
	words := strings.FieldsFunc(strings.Join(h.Exec.Command, " "), func(r rune) bool { return strings.ContainsRune(" \t\n;&|()", r) })
	for i, word := range words {
		if path.Base(word) == "sleep" && i+1 < len(words) {
			n, err := strconv.ParseFloat(strings.TrimSuffix(words[i+1], "s"), 64)
			if err == nil {
				return n, false
			}
		}
	}
	return 0, true
}

func (w *World) readAutoscaler() {
	s := &w.Service
	for _, o := range manifest.Of[*autoscalingv2.HorizontalPodAutoscaler](w.Manifest) {
		h := o.Value.(*autoscalingv2.HorizontalPodAutoscaler)
		if h.Spec.ScaleTargetRef.Name != s.Workload || !w.inNamespace(o) || len(w.versions) > 1 {
			continue
		}
		s.Min, s.Max = scales(h)
		s.runs, s.Ref = leastAndMost(s.Min, s.Max), o.Ref
		s.AutoMax, s.AutoRef = int(h.Spec.MaxReplicas), o.At("spec", "maxReplicas")
	}
}

func (w *World) readDoor() {
	c, s := w.Contract, &w.Service
	if c.Door == nil {
		return
	}
	plan, err := c.Door.Plan()
	if err != nil {
		return
	}
	s.Door, s.Latency, s.Shared = &plan, c.Door.Latency.Seconds(), c.Door.Probes == "shared"
	rate := 0.0
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) { // a sum of floats depends on its order
		rate += float64(c.Callers[name].Rate)
	}
	if rate > 0 && s.Latency > 0 {
		s.Util = capacity.Little(rate, s.Latency) / float64(s.Min*plan.InFlight)
	}
}
