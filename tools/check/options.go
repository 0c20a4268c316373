package check

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Options are what files do not say.
type Options struct {
	// Plane and Version override the contract's mesh. Version is that of the
	// control plane, such as 1.29.2.
	Plane   ControlPlane
	Version string

	// Namespace is that of the service's workload, where manifests of several have
	// one of its name.
	Namespace string

	// Now is the day on which ignores expire. The default is today.
	Now time.Time
}

// Err returns what is wrong with the options, all at once. It is tempting to take a
// version that does not read for one that nobody stated, but then a slip of the
// keyboard changes the verdicts.
func (o Options) Err() error {
	var errs []error
	planes := []ControlPlane{"istio", "envoy", "envoy-gateway", "contour", "consul", "grpc"}
	if o.Plane != "" && !slices.Contains(planes, o.Plane) {
		errs = append(errs, fmt.Errorf("check: control plane %q is not known; one of %q would do", o.Plane, planes))
	}
	if _, ok := minorOf(o.Version); o.Version != "" && !ok {
		errs = append(errs, fmt.Errorf("check: version %q does not read; 1.29 would do, or 1.28.9", o.Version))
	}
	return errors.Join(errs...)
}
