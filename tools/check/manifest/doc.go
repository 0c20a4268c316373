// Package manifest reads what really runs: Kubernetes and Istio manifests, Gateway
// API routes, Envoy configuration and what Envoy's admin port prints.
//
// It parses with the projects' own types, strictly: a field that they do not have
// is a [Problem] with its place, since the control plane would drop it silently
// and use a default instead. Kinds that say nothing about calls are skipped
// unread.
package manifest
