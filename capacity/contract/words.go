package contract

import (
	"slices"
	"strings"
)

// A word of the field, the key that it means here, and how that differs.
type word struct {
	theirs    []string
	ours, how string
}

// words are what clients, pools and proxies call the numbers of a contract. It is
// tempting to take them as other names, but most count or bound something else, and
// two names for a key are two keys to a reader.
func words() []word {
	return []word{
		{[]string{"timeout", "requesttimeout", "calltimeout", "responsetimeout", "totaltimeout", "readtimeout"}, "deadline", "which bounds a call with its queue, attempts and body"},
		{[]string{"pertrytimeout", "attempttimeout", "trytimeout"}, "attempt", "which bounds one attempt up to its response headers"},
		{[]string{"retries", "maxretries", "numretries", "retry", "retrycount", "maxattempts"}, "attempts", "which counts the first one too: 2 retries are attempts: 3"},
		{[]string{"maxconns", "maxconnections", "maxconnsperhost", "poolsize", "connectionpool", "pool", "maxpoolsize", "maxopenconns"}, "connections", "of one replica; or leave it out, and it is derived from rate and latency"},
		{[]string{"maxconcurrency", "concurrency", "maxinflight", "maxrequests", "bulkhead", "maxparallelrequests", "places", "workers"}, "inFlight", "of one replica; or leave it out, and it is derived from rate and latency"},
		{[]string{"maxpending", "maxpendingrequests", "queuesize", "queuelength", "backlog", "maxqueue"}, "queue", "how many calls may wait for a place"},
		{[]string{"queuetimeout", "pooltimeout", "acquiretimeout", "waittimeout", "maxwait"}, "wait", "the longest wait for a place"},
		{[]string{"idletimeout", "keepalive", "keepalivetimeout"}, "serverIdle", "when the upstream closes an idle connection; the client stays below it"},
		{[]string{"url", "baseurl", "endpoint", "address", "uri"}, "target", "such as https://processor.example"},
		{[]string{"rps", "qps", "tps", "throughput", "requestspersecond"}, "rate", "with its unit, such as 120/s, of all replicas together"},
		{[]string{"mean", "avg", "average", "responsetime"}, "latency", "the mean, such as 300ms; or p50 and p99"},
		{[]string{"ratelimit", "quota", "maxtotal", "concurrencylimit"}, "limit", "how many connections the upstream allows to all replicas together"},
		{[]string{"retrybudget", "budgetpercent", "retryratio"}, "retryShare", "the most retries as a share of requests, such as 10%"},
		{[]string{"pods", "instances", "minreplicas"}, "replicas", "such as {min: 6, max: 12}"},
		{[]string{"name", "servicename", "app"}, "service", "as its Deployment has it"},
		{[]string{"dependencies", "clients", "downstreams", "backends", "services"}, "upstreams", "the services that this one calls, by name"},
		{[]string{"consumers"}, "callers", "the services that call this one, by name"},
		{[]string{"server", "inbound", "admission"}, "door", "the service's own limit on what it takes in"},
	}
}

// meantBy says what a word of the field is called here, among the keys that a mapping
// knows.
func meantBy(key string, known []string) (ours string, ok bool) {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
	for _, w := range words() {
		if slices.Contains(w.theirs, plain) && slices.Contains(known, w.ours) {
			return w.ours + ", " + w.how, true
		}
	}
	return "", false
}
