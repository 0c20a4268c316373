// Package contract reads the file that states what a service draws from its
// upstreams: offtake.yaml.
//
// One file describes one service: its replicas and rollout, who calls it, its own
// door, and each upstream with its rate, latency, limit and deadline. Sizes are
// derived from these by package capacity; a size that is stated by hand stays.
// Under environments, an overlay changes only what it names:
//
//	service: payment-gateway
//	replicas: {min: 6}
//	callers:
//	  checkout: {rate: 120/s, deadline: 8s, attempts: 2}
//	upstreams:
//	  card-processor:
//	    target: https://processor.example
//	    rate: 120/s
//	    latency: 1200ms
//	    headroom: 1.3
//	    limit: 200
//	environments:
//	  staging:
//	    upstreams:
//	      card-processor: {rate: 5/s}
//
// Every time, rate and share carries its unit. Unknown and duplicate keys, and
// values that can not stand, are reported all at once with file, line and column.
// Anchors and aliases are refused: an overlay does their work and can be read
// where it stands. JSON is read as well as YAML.
package contract
