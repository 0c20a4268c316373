package kubelet

import (
	"os"
	"testing"

	v2 "k8s.io/api/autoscaling/v2"
	"k8s.io/kubernetes/pkg/apis/autoscaling"
	autoscalingv2 "k8s.io/kubernetes/pkg/apis/autoscaling/v2"
	"k8s.io/kubernetes/pkg/apis/autoscaling/validation"
	"sigs.k8s.io/yaml"
)

// TestTheAPIServerWouldTakeTheAutoscaler decodes the example strictly, and has the
// API server's own rules look at it.
func TestTheAPIServerWouldTakeTheAutoscaler(t *testing.T) {
	content, err := os.ReadFile("../../observability/kubernetes/hpa.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var written v2.HorizontalPodAutoscaler
	if err := yaml.UnmarshalStrict(content, &written); err != nil {
		t.Fatal(err)
	}
	written.Namespace = "default"
	autoscalingv2.SetDefaults_HorizontalPodAutoscaler(&written)
	var internal autoscaling.HorizontalPodAutoscaler
	if err := autoscalingv2.Convert_v2_HorizontalPodAutoscaler_To_autoscaling_HorizontalPodAutoscaler(&written, &internal, nil); err != nil {
		t.Fatal(err)
	}
	if errs := validation.ValidateHorizontalPodAutoscaler(&internal, validation.HorizontalPodAutoscalerSpecValidationOptions{MinReplicasLowerBound: 1}); len(errs) > 0 {
		t.Errorf("hpa.yaml: %v", errs.ToAggregate())
	}
	if m := written.Spec.Metrics; len(m) != 1 || m[0].Pods == nil || m[0].Pods.Metric.Name != "door_places_needed_ratio" {
		t.Errorf("hpa.yaml scales on %v, want the adapter's metric alone", m)
	}
}
