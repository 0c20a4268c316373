// Package integration proves the rest of the module against real parts: the rules
// and dashboards against Prometheus, the pages against a browser, the doors
// against real proxies, the readiness gate against the kubelet's prober, spans and
// metrics against the OpenTelemetry collector, the clients' outcomes against a fault
// proxy and a packet filter, the gRPC client against an xDS management server.
//
// Grafana itself is not run: Debian has no package of it. Its dashboards are read
// strictly by its own SDK, and every query of theirs is asked of a real Prometheus;
// what a panel looks like is not tested.
//
// There is nothing here to import. Each test installs what it needs from Debian's
// packages if it is not there yet, starts it on the loopback, prints what it does,
// and leaves nothing running. Where a part can't be had, as on another system, the
// test that needs it is skipped; in continuous integration (CI is set) it fails.
package integration
