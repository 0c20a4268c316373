package check

import (
	"strings"
	"testing"
)

const scaledService = `service: pay
replicas: {min: 4, max: 24, surge: 25%, unavailable: 25%}
callers: {checkout: {rate: 100/s, deadline: 8s, replicas: 4}}
door: {inFlight: 6, latency: 200ms}
start: {time: 2s}
upstreams:
  ledger: {target: 'http://ledger', rate: 100/s, latency: 200ms, limit: 300, inFlight: 12}
`

const scaledManifests = `apiVersion: apps/v1
kind: Deployment
metadata: {name: pay}
spec: {template: {spec: {containers: [{name: pay}]}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: pay}
spec: {minReplicas: 4, maxReplicas: 24, scaleTargetRef: {kind: Deployment, name: pay}}
---
apiVersion: networking.istio.io/v1
kind: DestinationRule
metadata: {name: pay}
spec: {host: pay, trafficPolicy: {outlierDetection: {interval: 10s}}}
`

func TestReplacingAllPodsAtOnceLeavesNone(t *testing.T) {
	for strategy, want := range map[string]string{
		"{type: Recreate}": "all 4 pods go at once",
		"{rollingUpdate: {maxSurge: 0, maxUnavailable: 100%}}": "all 4 pods go at once",
		"{rollingUpdate: {maxSurge: 100%, maxUnavailable: 0}}": "",
	} {
		mesh := strings.Replace(scaledManifests, "spec: {template", "spec: {strategy: "+strategy+", template", 1)
		found := only(worldWith(t, scaledService, mesh, Options{}), "K06")
		if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0].Evidence, want)) {
			t.Errorf("K06 with %s = %+v, want %q", strategy, found, want)
		}
	}
}

// The surge meets the upstream's limit when there are most replicas, and the pods
// that are missing are missed when there are fewest.
func TestARolloutIsAShareOfTheReplicasItMeets(t *testing.T) {
	alone := strings.Replace(scaledService, ", max: 24, surge: 25%, unavailable: 25%", "", 1)
	for name, texts := range map[string][2]string{
		"the contract has the most":        {scaledService, scaledManifests},
		"the autoscaler alone has them":    {alone, scaledManifests},
		"an autoscaler of v1 has them too": {alone, strings.Replace(scaledManifests, "autoscaling/v2", "autoscaling/v1", 1)},
	} {
		w := worldWith(t, texts[0], texts[1], Options{})
		for rule, want := range map[string]string{
			"C03": "12 x 30 pods = 360 vs limit 300",
			"C04": "",
			"K06": "0.8333 x 4/3 = 1.111",
			"K07": "24 pods replaced in 4 s",
			"K08": "30 x 12 = 360 vs 300",
		} {
			found := only(w, rule)
			if want == "" && len(found) > 0 || want != "" && (len(found) != 1 || !strings.Contains(found[0].Evidence, want)) {
				t.Errorf("%s: %s = %+v, want %q", name, rule, found, want)
			}
		}
	}
}
