// Package readiness decides when a process may have traffic.
//
// A [Gate] is a latch, not a thermometer. It opens once every check has passed
// once, which is when the pools are warm; it stays open when an upstream fails
// later, and it closes for good when the process drains.
//
// It is tempting to close it while an upstream is down or the process is busy.
// But all replicas see the same upstream: all would close at once, and nobody
// would be left to answer with what still works. A busy replica that leaves
// makes the rest busier, until they leave too. Being busy is for the door to say
// (package admission), one request at a time, and readiness depends on neither
// the door nor any pool.
//
// # In Kubernetes
//
//	mux.Handle("GET /readyz", &ready)
//	mux.Handle("GET /livez", readiness.Live())
//	mux.Handle("/", door.Handler(app))
//
// Both probes are routed around the door, so that they answer under load. They
// cost next to nothing; on a server of their own, on another port, they do not
// even queue for a connection with the traffic. A readiness probe every second
// takes a new pod in quickly; a liveness probe is only for a process that has
// stopped altogether.
//
// On SIGTERM the endpoint is removed while traffic still comes in, so that the
// order is: [Gate.Drain], then go on serving for as long as the balancer needs
// to look away (5 s will do for most), then http.Server.Shutdown.
//
// A request that comes before the gate is open finds a door that lets it wait:
// see admission.Options.Early.
package readiness
