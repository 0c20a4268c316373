package manifest

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// slim drops from a typed object what no rule asks for and most of it is: volumes and
// environments. Whether their fields exist has been looked at before.
func slim(value any) any {
	switch v := value.(type) {
	case *appsv1.Deployment:
		slimPod(&v.Spec.Template)
		v.ManagedFields, v.Status = nil, appsv1.DeploymentStatus{}
	case *appsv1.DaemonSet:
		slimPod(&v.Spec.Template)
		v.ManagedFields, v.Status = nil, appsv1.DaemonSetStatus{}
	case *appsv1.StatefulSet:
		slimPod(&v.Spec.Template)
		v.ManagedFields, v.Status, v.Spec.VolumeClaimTemplates = nil, appsv1.StatefulSetStatus{}, nil
	}
	return value
}

func slimPod(pod *corev1.PodTemplateSpec) {
	s := &pod.Spec
	s.Volumes, s.Affinity, s.Tolerations, s.TopologySpreadConstraints = nil, nil, nil, nil
	for _, all := range [][]corev1.Container{s.InitContainers, s.Containers} {
		for i := range all {
			k := &all[i]
			k.Env, k.EnvFrom, k.VolumeMounts, k.Args, k.SecurityContext, k.Resources = nil, nil, nil, nil, nil, corev1.ResourceRequirements{}
		}
	}
}
