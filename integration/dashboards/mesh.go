package dashboards

import "fmt"

// named has the name of a cluster in one label, whether Envoy or Istio wrote it.
func named(expr string) string {
	return fmt.Sprintf(`label_replace(%s, "cluster_name", "$1", "envoy_cluster_name", "(.+)")`, expr)
}

func byCluster(expr string) Query {
	return Query{fmt.Sprintf("sum by (cluster_name) (%s)", named(expr)), "{{cluster_name}}"}
}

// mesh is the proxies around a service: whom they eject, and how near panic is.
func mesh() Dashboard {
	return Dashboard{
		UID:   "offtake-mesh",
		Title: "offtake: the mesh around a service",
		About: "Does the mesh read busy as broken? Ejections and panic first, then retries and the proxies' own limits. Needs the recording rules of observability/prometheus/mesh.rules.yaml.",
		Rows: []Row{
			{"Is the mesh about to make it worse?", []Panel{
				{Title: "Requests sent in panic", Unit: "reqps", Figure: true, Bad: 0.001, Queries: []Query{byCluster("rate(envoy_cluster_lb_healthy_panic[$__rate_interval])")},
					About: "Sent to hosts without regard to their health."},
				{Title: "Hosts ejected", Unit: "percentunit", Figure: true, Warn: 0.1, Bad: 0.3, About: "By outlier detection, as the callers' proxies see them. Envoy's own panic threshold is reached at 50 %.", Queries: []Query{{"offtake:envoy_ejected:ratio", "{{cluster_name}}"}}},
				{Title: "Requests for each that came", Unit: "short", Figure: true, Warn: 1.1, Bad: 1.25, About: "Above 1 the proxies retry, beside the retries of the clients.", Queries: []Query{{"offtake:envoy_attempts_per_request:ratio5m", "{{cluster_name}}"}}},
				{Title: "Refused by a full proxy", Unit: "reqps", Figure: true, Bad: 0.001, About: "503 that looks like a broken host. The client's limit, which answers 429, should come first.", Queries: []Query{byCluster("rate(envoy_cluster_upstream_rq_pending_overflow[$__rate_interval])")}},
			}},
			{"Who is ejected?", []Panel{
				{Title: "Ejected hosts", Unit: "percentunit", Warn: 0.3, About: "The same as the tile, over time: does it follow a rollout?", Queries: []Query{{"offtake:envoy_ejected:ratio", "{{cluster_name}}"}}},
				{Title: "Healthy hosts", Unit: "percentunit", About: "Below 71.4 % traffic leaves its priority.", Queries: []Query{{"offtake:envoy_healthy:ratio", "{{cluster_name}}"}}},
				{Title: "Ejections: detected, enforced, over the limit", Unit: "reqps", About: "Detected and not enforced is observe mode. Over the limit: maxEjectionPercent is reached.", Queries: []Query{
					{"sum by (cluster_name) (" + named("rate(envoy_cluster_outlier_detection_ejections_detected_consecutive_5xx[$__rate_interval])") + ")", "{{cluster_name}} detected"},
					{"sum by (cluster_name) (" + named("rate(envoy_cluster_outlier_detection_ejections_enforced_consecutive_5xx[$__rate_interval])") + ")", "{{cluster_name}} enforced"},
					{"sum by (cluster_name) (" + named("rate(envoy_cluster_outlier_detection_ejections_overflow[$__rate_interval])") + ")", "{{cluster_name}} over the limit"}}},
			}},
			{"Retries and limits of the proxies", []Panel{
				{Title: "Requests and retries", Unit: "reqps", About: "Retries that rise with failures are the load that keeps an upstream down.", Queries: []Query{
					{"offtake:envoy_requests:rate5m", "{{cluster_name}} sent"}, {"offtake:envoy_retries:rate5m", "{{cluster_name}} of them retries"}}},
				{Title: "Retries dropped by the budget", Unit: "reqps", About: "That is the budget at work; look why first attempts fail.", Queries: []Query{byCluster("rate(envoy_cluster_upstream_rq_retry_overflow[$__rate_interval])")}},
				{Title: "Limits reached", Unit: "short", About: "1 while a limit of the proxy's pool is reached.", Queries: []Query{
					{"max by (cluster_name) (" + named("envoy_cluster_circuit_breakers_default_cx_open") + ")", "{{cluster_name}} connections"},
					{"max by (cluster_name) (" + named("envoy_cluster_circuit_breakers_default_rq_pending_open") + ")", "{{cluster_name}} pending"},
					{"max by (cluster_name) (" + named("envoy_cluster_circuit_breakers_default_rq_open") + ")", "{{cluster_name}} requests"}}},
				{Title: "Istio: requests by response flag", Unit: "reqps", About: "UH: no healthy host. UO: a limit reached. URX: retries used up.", Queries: []Query{
					{`sum by (destination_service, response_flags) (rate(istio_requests_total{reporter="source",response_flags!="-"}[$__rate_interval]))`, "{{destination_service}} {{response_flags}}"}}},
			}},
		},
	}
}
