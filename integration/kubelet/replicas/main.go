// Command replicas says how many replicas Kubernetes' own autoscaler wants: its
// arithmetic, on what a metrics adapter would tell it.
//
//	echo '{"checkout-0": 1.9}' | replicas ../../../observability/kubernetes/hpa.yaml
//
// Each pod of the input is running and ready, and has that value of the metric.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	v2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	"sigs.k8s.io/yaml"
)

func main() {
	replicas, err := run(os.Args[1:], os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "replicas:", err)
		os.Exit(1)
	}
	fmt.Println(replicas)
}

func run(args []string, in io.Reader) (int32, error) {
	if len(args) != 1 {
		return 0, fmt.Errorf("%d arguments; the file of an autoscaler would do", len(args))
	}
	content, err := os.ReadFile(args[0])
	if err != nil {
		return 0, err
	}
	var hpa v2.HorizontalPodAutoscaler
	if err := yaml.UnmarshalStrict(content, &hpa); err != nil {
		return 0, err
	}
	var values map[string]float64
	if err := json.NewDecoder(in).Decode(&values); err != nil {
		return 0, err
	}
	return wanted(hpa, values)
}

// wanted is what the controller would ask for, before it keeps to the bounds and the
// pace of the spec.
func wanted(hpa v2.HorizontalPodAutoscaler, values map[string]float64) (int32, error) {
	if m := hpa.Spec.Metrics; len(m) != 1 || m[0].Pods == nil || m[0].Pods.Target.AverageValue == nil {
		return 0, fmt.Errorf("%s does not scale on one metric of pods with an average value", hpa.Name)
	}
	target := hpa.Spec.Metrics[0].Pods
	told := adapter{name: target.Metric.Name, pods: make(metrics.PodMetricsInfo)}
	pods := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	for name, value := range values {
		told.pods[name] = metrics.PodMetric{Timestamp: time.Now(), Window: time.Minute, Value: int64(1000 * value)}
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault},
			Status:     v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
		}
		if err := pods.Add(pod); err != nil {
			return 0, err
		}
	}
	calculator := podautoscaler.NewReplicaCalculator(told, corelisters.NewPodLister(pods), 5*time.Minute, 30*time.Second)
	replicas, _, _, err := calculator.GetMetricReplicas(int32(len(values)), target.Target.AverageValue.MilliValue(), target.Metric.Name,
		podautoscaler.Tolerances{}, metav1.NamespaceDefault, labels.Everything(), labels.Everything())
	return replicas, err
}

// adapter has the values of one metric of pods.
type adapter struct {
	metrics.MetricsClient // the rest is not asked for

	name string
	pods metrics.PodMetricsInfo
}

// GetRawMetric implements the client of the metrics API.
func (a adapter) GetRawMetric(name, _ string, _, _ labels.Selector) (metrics.PodMetricsInfo, time.Time, error) {
	if name != a.name {
		return nil, time.Time{}, fmt.Errorf("there is no metric %s", name)
	}
	return a.pods, time.Now(), nil
}
