package grpcclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Policy is the load-balancing policy of this package, for a service config in
// which it is the child of another one, as in
//
//	{"loadBalancingConfig": [{"outlier_detection_experimental": {
//		"childPolicy": [{"offtake": {}}]}}]}
//
// It keeps several connections to each address and fills one before it uses the
// next. A policy above may have several of it: each has the plan's connections to
// the addresses it is given. It works in clients made by [New] only.
const Policy = "offtake"

// serviceConfig is what may be in a user's.
type serviceConfig struct {
	LoadBalancing json.RawMessage `json:"loadBalancingConfig"`
	HealthCheck   json.RawMessage `json:"healthCheckConfig"`
}

// ownPolicy is the load balancing of a client whose user has said nothing on it.
const ownPolicy = `[{"` + Policy + `":{}}]`

// checkServiceConfig refuses what would work against the plan, and what would do
// nothing. What else is wrong in it grpc-go will say.
func checkServiceConfig(text string) error {
	if text == "" {
		return nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return fmt.Errorf("Options.ServiceConfig: %w; %s would do", err, `{"loadBalancingConfig":[{"round_robin":{}}]}`)
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		instead := `only "loadBalancingConfig" and "healthCheckConfig" are read, in this spelling`
		switch name {
		case "loadBalancingConfig", "healthCheckConfig":
			if string(fields[name]) != "null" {
				continue
			}
			instead = "it is null; leave it out"
		case "methodConfig":
			instead = "times and retries are the plan's and Options.Methods'"
		case "retryThrottling":
			instead = "Plan.RetryShare bounds retries"
		case "loadBalancingPolicy":
			instead = "say it as loadBalancingConfig"
		}
		errs = append(errs, fmt.Errorf("Options.ServiceConfig: %q can't be used; %s", name, instead))
	}
	return errors.Join(errs...)
}

// balancing is how a client spreads its calls.
type balancing struct {
	config string // for grpc-go
	own    bool   // by the policy of this package, on one channel
	health bool   // grpc-go keeps a stream on each connection to watch its health
}

// newBalancing reads a service config that has been checked.
func newBalancing(text string, ownScheme bool) balancing {
	var c serviceConfig
	_ = json.Unmarshal([]byte(text), &c) // "" leaves it empty
	b := balancing{own: ownScheme, health: c.HealthCheck != nil}
	if c.LoadBalancing == nil && ownScheme {
		c.LoadBalancing = json.RawMessage(ownPolicy)
	}
	if c.LoadBalancing != nil {
		var policies any
		_ = json.Unmarshal(c.LoadBalancing, &policies)
		b.own = ownScheme && names(policies, Policy)
	}
	var fields []string
	if c.LoadBalancing != nil {
		fields = append(fields, `"loadBalancingConfig":`+string(c.LoadBalancing))
	}
	if c.HealthCheck != nil {
		fields = append(fields, `"healthCheckConfig":`+string(c.HealthCheck))
	}
	b.config = "{" + strings.Join(fields, ",") + "}"
	return b
}

// names says whether a policy is anywhere in a tree of them.
func names(tree any, policy string) bool {
	switch t := tree.(type) {
	case []any:
		return slices.ContainsFunc(t, func(at any) bool { return names(at, policy) })
	case map[string]any:
		for name, at := range t {
			if name == policy || names(at, policy) {
				return true
			}
		}
	}
	return false
}
