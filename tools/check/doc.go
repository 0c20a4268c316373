// Package check says whether the controls around a call hold together: timeouts,
// pools, queues, retries, probes, ejection and panic thresholds, each of which may
// be right alone.
//
// It compares a service's contract with the manifests that really run. Both are
// brought into a [World], the facts in one vocabulary; each [Rule] then takes from
// it the few numbers it needs. A rule whose numbers are not all known says nothing,
// and is counted as such in the [Report].
//
// What a control plane makes of a manifest depends on its version. Where the
// version is unknown, a rule is asked for every era, and a finding names those in
// which it differs.
package check
