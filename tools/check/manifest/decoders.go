package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	eg "github.com/envoyproxy/gateway/api/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	gwx "sigs.k8s.io/gateway-api/apisx/v1alpha1"
	kjson "sigs.k8s.io/json"
)

// A decoder turns the tree of one object into its type, and lists the paths of
// fields that the type does not have.
type decoder func(tree map[string]any) (value any, unknown []string, err error)

// decoderOf returns the API group and the decoder of a kind that says something
// about calls; nil for the others.
func decoderOf(kind string) (group string, d decoder) {
	const istioGroup, gateway = "networking.istio.io/", "gateway.networking.k8s.io/"
	switch kind {
	case "Deployment":
		return "apps/", kubernetes[appsv1.Deployment]
	case "DaemonSet":
		return "apps/", kubernetes[appsv1.DaemonSet]
	case "Rollout":
		return "argoproj.io/", decodeRollout
	case "ScaledObject":
		return "keda.sh/", decodeScaled
	case "StatefulSet":
		return "apps/", kubernetes[appsv1.StatefulSet]
	case "HorizontalPodAutoscaler":
		return "autoscaling/", decodeAutoscaler
	case "PodDisruptionBudget":
		return "policy/", kubernetes[policyv1.PodDisruptionBudget]
	case "Service":
		return "v1", kubernetes[corev1.Service]
	case "ConfigMap":
		return "v1", decodeConfigMap
	case "HTTPRoute":
		return gateway, gatewayAPI[gwv1.HTTPRoute]
	case "GatewayClass":
		return gateway, kubernetes[gwv1.GatewayClass]
	case "GRPCRoute":
		return gateway, kubernetes[gwv1.GRPCRoute]
	case "XBackendTrafficPolicy":
		return "gateway.networking.x-k8s.io/", gatewayAPI[gwx.XBackendTrafficPolicy]
	case "BackendTrafficPolicy":
		return "gateway.envoyproxy.io/", gatewayAPI[eg.BackendTrafficPolicy]
	case "PrometheusRule":
		return "monitoring.coreos.com/", decodeAlerts
	case "DestinationRule":
		return istioGroup, decodeDestinationRule
	case "VirtualService":
		return istioGroup, decodeVirtualService
	case "Sidecar":
		return istioGroup, decodeSidecar
	case "IstioOperator":
		return "install.istio.io/", decodeOperator
	}
	return "", formDecoder(kind)
}

// formDecoder returns the decoder of a form without a kind, under the name that
// formOf gives it.
func formDecoder(form string) decoder {
	switch form {
	case "MeshConfig":
		return decodeMeshConfig
	case "EnvoyBootstrap":
		return decodeBootstrap
	case "EnvoyConfigDump":
		return decodeConfigDump
	case "EnvoyCluster":
		return decodeEnvoyCluster
	case "EnvoyRoutes":
		return decodeEnvoyRoutes
	case "EnvoyClusters":
		return decodeClusters
	case "GRPCServiceConfig":
		return decodeServiceConfig
	}
	return nil
}

// kubernetes decodes with the API server's own strict decoder.
func kubernetes[T any](tree map[string]any) (any, []string, error) {
	b, err := json.Marshal(tree)
	if err != nil {
		return nil, nil, err
	}
	v := new(T)
	strict, err := kjson.UnmarshalStrict(b, v)
	if err != nil {
		return nil, nil, err
	}
	var unknown []string
	for _, e := range strict {
		path, ok := strings.CutPrefix(e.Error(), "unknown field ")
		path = strings.Trim(path, `"`)
		// A controller writes the status, and may be newer than these types.
		if ok && !strings.HasPrefix(path, "status.") {
			unknown = append(unknown, path)
		}
	}
	return v, unknown, nil
}

// decodeAutoscaler reads v1 too, which the API server still takes, as v2.
func decodeAutoscaler(tree map[string]any) (any, []string, error) {
	if spec, ok := tree["spec"].(map[string]any); ok && strings.HasPrefix(fmt.Sprint(tree["apiVersion"]), "autoscaling/v2beta") {
		delete(spec, "metrics") // written otherwise than in v2
		delete(tree, "status")
	}
	if tree["apiVersion"] != "autoscaling/v1" {
		return kubernetes[autoscalingv2.HorizontalPodAutoscaler](tree)
	}
	v, unknown, err := kubernetes[autoscalingv1.HorizontalPodAutoscaler](tree)
	if err != nil {
		return nil, nil, err
	}
	v1 := v.(*autoscalingv1.HorizontalPodAutoscaler)
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: v1.ObjectMeta,
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(v1.Spec.ScaleTargetRef),
			MinReplicas:    v1.Spec.MinReplicas, MaxReplicas: v1.Spec.MaxReplicas,
		},
	}, unknown, nil
}

// decodeRollout reads Argo's Rollout as the Deployment that it takes the place of.
// What it has beside that is not looked at.
func decodeRollout(tree map[string]any) (any, []string, error) {
	var v struct {
		Spec struct {
			Replicas *int32                 `json:"replicas"`
			Template corev1.PodTemplateSpec `json:"template"`
			MinReady int32                  `json:"minReadySeconds"`
			Strategy struct {
				Canary *appsv1.RollingUpdateDeployment `json:"canary"`
			} `json:"strategy"`
		} `json:"spec"`
	}
	drop(tree, "affinity", "resources", "ephemeralContainers", "volumes", "env")
	if err := remarshal(tree, &v); err != nil {
		return nil, nil, err
	}
	d := &appsv1.Deployment{}
	d.Spec.Replicas, d.Spec.Template, d.Spec.MinReadySeconds = v.Spec.Replicas, v.Spec.Template, v.Spec.MinReady
	d.Spec.Strategy.RollingUpdate = v.Spec.Strategy.Canary
	return d, nil, nil
}

// drop takes keys out of a tree at any depth: Argo takes what Kubernetes would refuse,
// and no rule asks for it.
func drop(v any, keys ...string) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range keys {
			delete(v, key)
		}
		for _, item := range v {
			drop(item, keys...)
		}
	case []any:
		for _, item := range v {
			drop(item, keys...)
		}
	}
}

// decodeScaled reads KEDA's ScaledObject as the autoscaler that KEDA makes of it.
func decodeScaled(tree map[string]any) (any, []string, error) {
	var v struct {
		Spec struct {
			Target autoscalingv2.CrossVersionObjectReference `json:"scaleTargetRef"`
			Min    *int32                                    `json:"minReplicaCount"`
			Max    *int32                                    `json:"maxReplicaCount"`
		} `json:"spec"`
	}
	if err := remarshal(tree, &v); err != nil {
		return nil, nil, err
	}
	h := &autoscalingv2.HorizontalPodAutoscaler{}
	h.Spec.ScaleTargetRef, h.Spec.MinReplicas, h.Spec.MaxReplicas = v.Spec.Target, v.Spec.Min, 100 // KEDA's default
	if v.Spec.Target.Kind == "" {
		h.Spec.ScaleTargetRef.Kind = "Deployment"
	}
	if v.Spec.Max != nil {
		h.Spec.MaxReplicas = *v.Spec.Max
	}
	return h, nil, nil
}

// gatewayAPI decodes what has durations of the Gateway API. Its types hold any text;
// that it is a duration is for the API server to see.
func gatewayAPI[T any](tree map[string]any) (any, []string, error) {
	v, unknown, err := kubernetes[T](tree)
	if err == nil {
		err = durationsOf(reflect.ValueOf(v))
	}
	return v, unknown, err
}

// durationsOf returns that a duration somewhere in a value is none.
//
// Source: GEP-2257.
func durationsOf(v reflect.Value) error {
	var errs []error
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			return durationsOf(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			errs = append(errs, durationsOf(v.Index(i)))
		}
	case reflect.Struct:
		for f, field := range v.Fields() {
			if f.IsExported() {
				errs = append(errs, durationsOf(field))
			}
		}
	case reflect.String:
		if v.Type() == reflect.TypeFor[gwv1.Duration]() && !regexp.MustCompile(`^([0-9]{1,5}(h|m|s|ms)){1,4}$`).MatchString(v.String()) {
			return said(fmt.Sprintf("%q is not a duration; 5s would do, or 500ms", v.String()))
		}
	}
	return errors.Join(errs...)
}

// Alerts are the expressions of a PrometheusRule.
type Alerts struct {
	Names, Exprs []string
	Paths        [][]string // of the expressions, for Object.At
}

func decodeAlerts(tree map[string]any) (any, []string, error) {
	var v struct {
		Spec struct {
			Groups []struct {
				Rules []struct {
					Alert string `json:"alert"`
					Expr  any    `json:"expr"` // a number is an expression too
				} `json:"rules"`
			} `json:"groups"`
		} `json:"spec"`
	}
	if err := remarshal(tree, &v); err != nil {
		return nil, nil, err
	}
	a := &Alerts{}
	for i, g := range v.Spec.Groups {
		for j, r := range g.Rules {
			if expr, ok := r.Expr.(string); ok && r.Alert != "" {
				a.Names, a.Exprs = append(a.Names, r.Alert), append(a.Exprs, expr)
				a.Paths = append(a.Paths, []string{"spec", "groups", index(i), "rules", index(j), "expr"})
			}
		}
	}
	return a, nil, nil
}

// ServiceConfig is the part of a gRPC service config that retries and times calls.
type ServiceConfig struct {
	MethodConfig []MethodConfig `json:"methodConfig"`
}

// MethodConfig is the config of some methods.
type MethodConfig struct {
	Timeout     string `json:"timeout"`
	RetryPolicy *struct {
		MaxAttempts          int      `json:"maxAttempts"`
		RetryableStatusCodes []string `json:"retryableStatusCodes"`
	} `json:"retryPolicy"`
}

func decodeServiceConfig(tree map[string]any) (any, []string, error) {
	v := &ServiceConfig{}
	if err := remarshal(tree, v); err != nil {
		return nil, nil, err
	}
	for _, m := range v.MethodConfig {
		if seconds, ok := strings.CutSuffix(m.Timeout, "s"); m.Timeout != "" {
			if _, err := strconv.ParseFloat(seconds, 64); err != nil || !ok {
				return nil, nil, said(fmt.Sprintf("%q is not a duration in seconds; 1.5s would do", m.Timeout))
			}
		}
	}
	return v, nil, nil
}
