package manifest

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	_ "google.golang.org/protobuf/types/known/emptypb" // stands in for unknown extensions
	meshv1 "istio.io/api/mesh/v1alpha1"
	networking "istio.io/api/networking/v1alpha3"
)

type (
	// DestinationRule holds the spec of Istio's object of that kind.
	DestinationRule struct{ *networking.DestinationRule }
	// VirtualService holds the spec of Istio's object of that kind.
	VirtualService struct{ *networking.VirtualService }
	// Sidecar holds the spec of Istio's object of that kind.
	Sidecar struct{ *networking.Sidecar }
	// MeshConfig holds Istio's global configuration.
	MeshConfig struct{ *meshv1.MeshConfig }
)

// inSpec puts the paths of a spec below it.
func inSpec(unknown []string) []string {
	for i, path := range unknown {
		unknown[i] = "spec." + path
	}
	return unknown
}

func decodeDestinationRule(tree map[string]any) (any, []string, error) {
	v := &DestinationRule{new(networking.DestinationRule)}
	unknown, err := istio(tree["spec"], v.DestinationRule)
	if err == nil {
		err = percentagesOf(v.DestinationRule)
	}
	return v, inSpec(unknown), err
}

// percentagesOf returns that a percentage of a rule is none. Istio refuses such a
// rule, so what would follow from it need not be said.
func percentagesOf(rule *networking.DestinationRule) error {
	all := []*networking.OutlierDetection{}
	look := func(policy *networking.TrafficPolicy) {
		all = append(all, policy.GetOutlierDetection())
		for _, p := range policy.GetPortLevelSettings() {
			all = append(all, p.GetOutlierDetection())
		}
	}
	look(rule.GetTrafficPolicy())
	for _, s := range rule.GetSubsets() {
		look(s.GetTrafficPolicy())
	}
	for _, od := range all {
		for _, percent := range []int32{od.GetMaxEjectionPercent(), od.GetMinHealthPercent()} {
			if percent < 0 || percent > 100 {
				return said(fmt.Sprintf("%d is not in [0, 100]; 50 would do", percent))
			}
		}
	}
	return nil
}

func decodeVirtualService(tree map[string]any) (any, []string, error) {
	v := &VirtualService{new(networking.VirtualService)}
	unknown, err := istio(tree["spec"], v.VirtualService)
	return v, inSpec(unknown), err
}

func decodeSidecar(tree map[string]any) (any, []string, error) {
	v := &Sidecar{new(networking.Sidecar)}
	unknown, err := istio(tree["spec"], v.Sidecar)
	return v, inSpec(unknown), err
}

// decodeMeshConfig reads an excerpt: the configuration itself, or one below the
// key meshConfig, as in values of a chart.
func decodeMeshConfig(tree map[string]any) (any, []string, error) {
	v, prefix := &MeshConfig{new(meshv1.MeshConfig)}, ""
	body := tree
	if inner, ok := tree["meshConfig"].(map[string]any); ok {
		body, prefix = inner, "meshConfig."
	}
	unknown, err := istio(body, v.MeshConfig)
	for i := range unknown {
		unknown[i] = prefix + unknown[i]
	}
	return v, unknown, err
}

func decodeOperator(tree map[string]any) (any, []string, error) {
	spec, _ := tree["spec"].(map[string]any)
	body, ok := spec["meshConfig"].(map[string]any)
	if !ok {
		body = map[string]any{}
	}
	v := &MeshConfig{new(meshv1.MeshConfig)}
	unknown, err := istio(body, v.MeshConfig)
	for i := range unknown {
		unknown[i] = "spec.meshConfig." + unknown[i]
	}
	return v, unknown, err
}

// decodeConfigMap reads the mesh configuration out of istiod's; others are empty.
func decodeConfigMap(tree map[string]any) (any, []string, error) {
	v := &MeshConfig{new(meshv1.MeshConfig)}
	data, _ := tree["data"].(map[string]any)
	text, ok := data["mesh"].(string)
	meta, _ := tree["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	if !ok || !strings.HasPrefix(name, "istio") {
		return (*MeshConfig)(nil), nil, nil
	}
	var body map[string]any
	if err := yaml.Unmarshal([]byte(text), &body); err != nil {
		return nil, nil, said("data.mesh: " + err.Error())
	}
	unknown, err := istio(body, v.MeshConfig)
	if err != nil { // in a text, whose lines the document does not know
		for _, m := range misfits(body, func(tree map[string]any) error {
			_, err := istio(tree, new(meshv1.MeshConfig))
			return err
		}) {
			return nil, nil, said("data.mesh: " + join(m.path) + ": " + m.text)
		}
	}
	for i := range unknown {
		unknown[i] = "data.mesh." + unknown[i]
	}
	return v, unknown, err
}
