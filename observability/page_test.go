package observability

// The prose of docs/metrics.md, between its tables.
const (
	pageHead = `# Metrics

Made from the code by a test, which fails when this page is not what the code has:

    go test ./observability -update

Every label is from a closed set, or is the name that the program gave: nothing that comes over the
wire becomes a label. An HTTP client has %d counters and gauges and %d histograms from the start, a
counter for each outcome of attempts and dials that occurs, and a histogram for each pair of method and
outcome of calls. A classic histogram is %d series to Prometheus, a native one is one.

## Prometheus

`
	pageMiddle = `
All times are in seconds. Histograms are native (buckets 10 % apart) and classic at once, from 1 ms to
10 s; the first classic bucket, 0, holds what did not wait at all. A server that ingests native
histograms drops the classic ones unless told otherwise (` + "`always_scrape_classic_histograms`" + `, before
Prometheus 3 ` + "`scrape_classic_histograms`" + `); the recorded series of
[` + "`observability/prometheus`" + `](../observability/prometheus) work with either.

A counter of an outcome appears when that outcome first occurs. What happened by then is in its first
value, so that ` + "`increase`" + ` does not see it: alert on ratios, not on first occurrences.

### The closed sets

`
	pageOpenTelemetry = `
Outcomes in capitals are gRPC status codes, as the other side said them; those in small letters are
what happened here. ` + "`observed=\"true\"`" + ` counts what observe mode let pass.

Little's law is there to be checked: ` + "`offtake_client_required_places`" + ` is the rate of the last minute times
the mean time that a call held its place, refused calls included in the rate. Above
` + "`offtake_client_places`" + ` there is a queue, or refusals, or both.

## OpenTelemetry

Under the semantic conventions, with a ` + "`MeterProvider`" + ` in the options or the global one. The spans of
calls are described in the packages ` + "`httpclient`" + ` and ` + "`grpcclient`" + `.

`
)
