package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/offtake-go/offtake/capacity/contract"
)

// An Ejector is an implementation of outlier detection, which decides how many
// hosts may be out at once.
type Ejector string

// The implementations that differ.
const (
	Envoy128   Ejector = "envoy>=1.28"
	EnvoyOne   Ejector = "envoy>=1.31+always_eject_one"
	Envoy127   Ejector = "envoy1.27"
	EnvoyOlder Ejector = "envoy<=1.26"
	GRPCGo     Ejector = "grpc-go"
)

// EffectiveMaxEjected returns how many of n hosts can be ejected at once at
// maxEjectionPercent m; "" is the newest Envoy.
//
// Source: outlier_detection_impl.cc before and after the pull requests 27624 (in
// 1.27) and 27909 (in 1.28); grpc-go's outlierdetection balancer, gRFC A50.
func EffectiveMaxEjected(n, m int, by Ejector) int {
	if n <= 0 || m <= 0 {
		if n > 0 && (by == Envoy127 || by == EnvoyOlder || by == EnvoyOne) {
			return 1
		}
		return 0
	}
	floor := min(n*m/100, n)
	switch by {
	case Envoy127, EnvoyOne:
		return max(floor, 1)
	case EnvoyOlder, GRPCGo: // one more is let out while the share is still below
		return min((n*m+99)/100, n)
	}
	return floor // of Envoy128
}

// Panics reports whether a proxy is in panic with this many of n hosts healthy:
// strictly fewer than threshold percent. Half of two hosts at 50 is no panic, and
// with 71.4 % or more there is none at any threshold: 1.4 times the healthy hosts,
// Envoy's overprovisioning factor, are then enough for all traffic.
//
// Source: load_balancer_impl.cc.
func Panics(n, healthy, threshold int) bool {
	return n > 0 && 140*healthy < 100*n && 100*healthy < threshold*n
}

// PanicPolicy is what a panic threshold follows from.
type PanicPolicy struct {
	// Outlier says that the cluster has outlier detection at all.
	Outlier bool

	// MinHealth is Istio's minHealthPercent; 0 is unset, which Istio can not tell
	// apart.
	MinHealth int

	// Explicit is a threshold set directly: Envoy's healthy_panic_threshold, Envoy
	// Gateway's panicThreshold, an EnvoyFilter.
	Explicit *int

	// Distribution says that the Service has a trafficDistribution.
	Distribution bool

	// SendsUnready says that unready endpoints are sent to the proxies, by
	// PILOT_SEND_UNHEALTHY_ENDPOINTS.
	SendsUnready bool
}

// EffectivePanic returns the panic threshold in percent that a control plane
// configures; minor is Istio's minor version and means nothing for the others.
//
// Source: Istio's cluster_traffic_policy.go and its history (pull request 15609 in
// 1.3, trafficDistribution in 1.25, unhealthy endpoints by default in 1.31);
// Contour and Consul set 0 in code; Envoy's default is 50.
func EffectivePanic(plane contract.ControlPlane, minor int, p PanicPolicy) int {
	if p.Explicit != nil {
		return *p.Explicit
	}
	switch plane {
	case "contour", "consul", "grpc":
		return 0
	case "istio":
		return istioPanic(minor, p)
	}
	return 50
}

func istioPanic(minor int, p PanicPolicy) int {
	switch {
	case minor <= 2:
		if p.Outlier && p.MinHealth > 0 {
			return p.MinHealth
		}
		return 50
	case p.Distribution && minor >= 25 || p.SendsUnready:
		return 0
	case p.Outlier:
		return p.MinHealth
	case minor >= 31:
		return 0
	}
	return 50
}

// An Era is a span of versions in which a control plane does the same.
type Era struct {
	// Name is "" if the version is known.
	Name string

	// Minor is the minor version that stands for it.
	Minor int

	Ejector Ejector
}

// erasOf returns the eras that a control plane may be in as far as the input says:
// of Istio, those that know the API in which its objects are written.
func (w *World) erasOf(plane contract.ControlPlane) []Era {
	eras := erasOf(plane, w.Version)
	if plane != "istio" || len(eras) == 1 {
		return eras
	}
	if i := slices.IndexFunc(eras, func(e Era) bool { return e.Minor == 30 }); w.Mesh.Distribution {
		// It has been looked at since 1.25.
		eras = slices.Replace(eras, i, i+1, Era{"Istio 1.20 to 1.24", 24, Envoy128}, Era{"Istio 1.25 to 1.30", 30, Envoy128})
	}
	return slices.DeleteFunc(eras, func(e Era) bool { return e.Minor < w.oldest() })
}

// oldest is the minor version of Istio that first had the newest API among its
// objects. A cluster that serves an object in that API is no older.
func (w *World) oldest() int {
	oldest := 0
	for _, o := range w.Manifest.Objects {
		switch o.APIVersion {
		case "networking.istio.io/v1beta1":
			oldest = max(oldest, 5)
		case "networking.istio.io/v1":
			oldest = max(oldest, 22)
		}
	}
	return oldest
}

// erasOf returns the eras that a control plane of this version may be in: one if
// the version is known. Istio 1.20 carries Envoy 1.28, and so on in step.
func erasOf(plane contract.ControlPlane, version string) []Era {
	if plane == "grpc" {
		return []Era{{Ejector: GRPCGo}}
	}
	minor, known := minorOf(version)
	switch plane {
	case "istio":
		if known {
			return []Era{{Minor: minor, Ejector: envoyEjector(minor + 8)}}
		}
		return []Era{
			{"Istio up to 1.2", 2, EnvoyOlder}, {"Istio 1.3 to 1.18", 18, EnvoyOlder}, {"Istio 1.19", 19, Envoy127},
			{"Istio 1.20 to 1.30", 30, Envoy128}, {"Istio 1.31 and later", 31, Envoy128},
		}
	case "envoy":
		if known {
			return []Era{{Minor: minor, Ejector: envoyEjector(minor)}}
		}
		return []Era{{"Envoy up to 1.26", 26, EnvoyOlder}, {"Envoy 1.27", 27, Envoy127}, {"Envoy 1.28 and later", 28, Envoy128}}
	}
	return []Era{{Minor: minor, Ejector: Envoy128}}
}

func envoyEjector(minor int) Ejector {
	switch {
	case minor <= 26:
		return EnvoyOlder
	case minor == 27:
		return Envoy127
	}
	return Envoy128
}

// minorOf reads the second number of 1.29, v1.29.2 or 1.29-alpha. It is tempting to
// skip what comes before the first dot, but then a revision called stable-1-29 is of
// version 1.1.
func minorOf(version string) (int, bool) {
	major, rest, ok := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	if _, err := strconv.Atoi(major); err != nil {
		return 0, false
	}
	digits := rest
	if i := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		digits = rest[:i]
	}
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil
}

// patchOf reads the third number; 0 if there is none.
func patchOf(version string) int {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 3 {
		return 0
	}
	var n int
	if _, err := fmt.Sscanf(parts[2], "%d", &n); err != nil {
		return 0
	}
	return n
}
