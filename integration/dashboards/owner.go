package dashboards

import "fmt"

const (
	ofClient = `job=~"$job",upstream=~"$upstream"`
	ofServer = `job=~"$job"`
)

// p95 is the 95th percentile of a histogram, from the native one where there is
// one, by a label.
func p95(metric, selector, by string) string {
	return fmt.Sprintf("histogram_quantile(0.95, sum by (%[3]s) (rate(%[1]s{%[2]s}[$__rate_interval])))\n"+
		"or\nhistogram_quantile(0.95, sum by (%[3]s, le) (rate(%[1]s_bucket{%[2]s}[$__rate_interval])))", metric, selector, by)
}

// owner is for whoever owns a service: are its calls waiting, and why.
func owner() Dashboard {
	return Dashboard{
		UID:   "offtake-owner",
		Title: "offtake: a service and its upstreams",
		About: "Which upstream is the trouble, and is it busy, slow, broken or mis-sized? From the left: waiting, too few places, refused, failed. Needs the recording rules of observability/prometheus/offtake.rules.yaml.",
		Variables: []Variable{
			{"job", `label_values(offtake_client_places, job)`},
			{"upstream", `label_values(offtake_client_places{job=~"$job"}, upstream)`},
		},
		Rows: []Row{
			{"Is something wrong?", headline()},
			{"Which upstream, and why?", upstreams()},
			{"Retries and connections", retries()},
			{"This service's own door", door()},
		},
	}
}

func headline() []Panel {
	worst := func(series string) []Query {
		return []Query{{fmt.Sprintf("max by (upstream) (%s{%s})", series, ofClient), "{{upstream}}"}}
	}
	return []Panel{
		{Title: "Queue wait, p95", Unit: "s", Figure: true, Warn: 0.05, Bad: 0.1, Queries: worst("offtake:client_queue_wait_seconds:p95_5m"),
			About: "How long a call waits for a place before anything is sent. Anything but 0 is a size, a burst, or a slow upstream."},
		{Title: "Places needed, of those there are", Unit: "percentunit", Figure: true, Warn: 0.8, Bad: 1, Queries: worst("offtake:client_places_needed:ratio"),
			About: "Little's law on the traffic of the last minute. Above 100 % there is a queue without end."},
		{Title: "Calls refused here", Unit: "percentunit", Figure: true, Warn: 0.001, Bad: 0.01, Queries: worst("offtake:client_refused:ratio5m"),
			About: "Refused for want of a place; nothing was sent."},
		{Title: "Calls failed", Unit: "percentunit", Figure: true, Warn: 0.01, Bad: 0.05, Queries: worst("offtake:client_failed:ratio5m"),
			About: "Failures of the upstream or the way to it. Refusals and callers that left are not among them."},
	}
}

func upstreams() []Panel {
	sum := func(metric, legend string) Query {
		return Query{fmt.Sprintf("sum by (upstream) (%s{%s})", metric, ofClient), "{{upstream}} " + legend}
	}
	return []Panel{
		{Title: "Places: needed, there, in flight", Unit: "short", About: "All replicas together.", Queries: []Query{
			sum("offtake_client_required_places", "needed"), sum("offtake_client_places", "there"), sum("offtake_client_in_flight", "in flight")}},
		{Title: "Queue wait, p95", Unit: "s", Warn: 0.05, Bad: 0.1, About: "The same as the first tile, over time. Needed places near those there are: the size. Far below: bursts.", Queries: []Query{
			{fmt.Sprintf("offtake:client_queue_wait_seconds:p95_5m{%s}", ofClient), "{{upstream}}"}}},
		{Title: "Waiting calls", Unit: "short", About: "Calls that wait for a place at this moment, in all replicas.", Queries: []Query{sum("offtake_client_queue_length", "waiting")}},
		{Title: "Rate: did the traffic rise?", Unit: "reqps", About: "Calls, refused ones included. If this rose, there is more traffic, or a caller retries: mis-sized.", Queries: []Query{
			{fmt.Sprintf("sum by (upstream) (offtake:client_calls:rate5m{%s})", ofClient), "{{upstream}}"}}},
		{Title: "Time in a place: did the upstream slow down?", Unit: "s", About: "Places needed, divided by the calls that came.", Queries: []Query{
			{fmt.Sprintf("sum by (upstream) (offtake_client_required_places{%[1]s}) / (sum by (upstream) (offtake:client_calls:rate5m{%[1]s}) > 0)", ofClient), "{{upstream}}"}}},
		{Title: "Whole call, p95", Unit: "s", Bad: 2, About: "From the start of a call to the end of its body, waits and retries included.", Queries: []Query{
			{fmt.Sprintf("offtake:client_request_duration_seconds:p95_5m{%s}", ofClient), "{{upstream}}"}}},
		{Title: "Calls by outcome", Unit: "reqps", About: "How calls end. Capitals are gRPC codes, as the other side said them; small letters are what happened here.", Queries: []Query{
			{fmt.Sprintf("sum by (upstream, outcome) (offtake:client_calls:rate5m{%s})", ofClient), "{{upstream}} {{outcome}}"}}},
		{Title: "Refused by reason", Unit: "reqps", About: "Those that observe mode let pass are marked observed.", Queries: []Query{
			{fmt.Sprintf("sum by (upstream, reason, observed) (rate(offtake_client_refused_total{%s}[$__rate_interval])) > 0 or sum by (upstream) (offtake_client_places{%[1]s}) * 0", ofClient), "{{upstream}} {{reason}} observed={{observed}}"}}},
		{Title: "Where the time goes, p95", Unit: "s", About: "Place: too few, or bursts. Connection: dials. Headers: the upstream. Body: large answers, or a slow reader.", Queries: []Query{
			{p95("offtake_client_queue_wait_seconds", ofClient, "upstream"), "{{upstream}} place"},
			{p95("offtake_client_connect_wait_seconds", ofClient, "upstream"), "{{upstream}} connection"},
			{p95("offtake_client_header_wait_seconds", ofClient, "upstream"), "{{upstream}} headers"},
			{p95("offtake_client_body_seconds", ofClient, "upstream"), "{{upstream}} body"}}},
	}
}

func retries() []Panel {
	return []Panel{
		{Title: "Requests sent for each call", Unit: "short", Bad: 1.25, About: "Above 1 there are retries. From 1.25 on they are a load of their own.", Queries: []Query{
			{fmt.Sprintf("offtake:client_attempts_per_call:ratio5m{%s}", ofClient), "{{upstream}}"}}},
		{Title: "Retries by reason", Unit: "reqps", About: "Why the attempt before was not enough.", Queries: []Query{
			{fmt.Sprintf("sum by (upstream, reason) (rate(offtake_client_retries_total{%s}[$__rate_interval]))", ofClient), "{{upstream}} {{reason}}"}}},
		{Title: "Retries that the budget allows", Unit: "short", About: "At 0 an upstream fails more often than retries may hide. That is the budget at work.", Queries: []Query{
			{fmt.Sprintf("min by (upstream) (offtake_client_retry_budget_balance{%s})", ofClient), "{{upstream}}"}}},
		{Title: "Connections", Unit: "short", About: "Open connections, all replicas together.", Queries: []Query{
			{fmt.Sprintf("sum by (upstream, state) (offtake_client_connections{%s})", ofClient), "{{upstream}} {{state}}"}}},
		{Title: "Requests on a reused connection", Unit: "percentunit", About: "The rest had to dial, which costs a round trip or three.", Queries: []Query{
			{fmt.Sprintf("offtake:client_connection_reuse:ratio5m{%s}", ofClient), "{{upstream}}"}}},
		{Title: "Dials by outcome", Unit: "reqps", About: "2xx is a connection that was made.", Queries: []Query{
			{fmt.Sprintf("sum by (upstream, outcome) (rate(offtake_client_dials_total{%s}[$__rate_interval]))", ofClient), "{{upstream}} {{outcome}}"}}},
	}
}

func door() []Panel {
	sum := func(metric, legend string) Query {
		return Query{fmt.Sprintf("sum by (door) (%s{%s})", metric, ofServer), "{{door}} " + legend}
	}
	return []Panel{
		{Title: "Requests by outcome", Unit: "reqps", About: "How this service answers: what its callers see.", Queries: []Query{
			{fmt.Sprintf("sum by (door, outcome) (offtake:server_requests:rate5m{%s})", ofServer), "{{door}} {{outcome}}"}}},
		{Title: "Door: needed, there, in flight", Unit: "short", About: "All replicas together. Needed above there: add replicas, unless an upstream is slow.", Queries: []Query{
			sum("offtake_server_required_places", "needed"), sum("offtake_server_places", "there"), sum("offtake_server_in_flight", "in flight")}},
		{Title: "Answered with busy", Unit: "percentunit", Bad: 0.01, About: "429 or RESOURCE_EXHAUSTED. It protects those inside.", Queries: []Query{
			{fmt.Sprintf("offtake:server_refused:ratio5m{%s}", ofServer), "{{door}}"}}},
		{Title: "Wait at the door, p95", Unit: "s", About: "How long a request waits for a place of this service.", Queries: []Query{
			{fmt.Sprintf("offtake:server_queue_wait_seconds:p95_5m{%s}", ofServer), "{{door}}"}}},
		{Title: "Replicas that are ready", Unit: "short", About: "Those whose readiness gate is open, of those that are scraped.", Queries: []Query{
			{fmt.Sprintf("sum by (job) (offtake_ready{%s})", ofServer), "{{job}} ready"}, {fmt.Sprintf("count by (job) (offtake_ready{%s})", ofServer), "{{job}} all"}}},
		{Title: "Time to warm", Unit: "s", About: "Of the slowest replica, until each check passed, or until now if it has not.", Queries: []Query{
			{fmt.Sprintf("max by (check) (offtake_ready_check_seconds{%s})", ofServer), "{{check}}"}}},
	}
}
