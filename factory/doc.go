// Package factory builds everything that stands around a service from the file
// that states what it draws from its upstreams.
//
// [Open] reads offtake.yaml for one environment and makes a client for each of its
// upstreams, the readiness gate with the warming of each in it, and the door;
// [Service.Run] serves an application behind them, and stops it so that nothing
// is lost.
//
//	service, err := factory.Open("offtake.yaml", &factory.Options{Environment: "production"})
//	processor, err := service.HTTP("card-processor")
//	err = service.Run(ctx, app)
//
// # Start
//
// Listening comes first, so that probes are answered from the first moment. Each
// replica then waits for a random part of [Options.Spread], so that a fleet that
// starts together does not knock together, and warms all upstreams at once. A
// request that comes before that is done waits at the door, up to
// [Options.Early], and is then told 429: nothing is answered 503 because a pool
// is cold. An upstream that is not there keeps readiness shut for
// [Options.OpenDegraded] at the most.
//
// # Stop
//
// On SIGTERM or SIGINT, or when its context ends, Run closes readiness, goes on
// serving for [Options.Propagation] while the balancers look away, then refuses
// what is new, lets what runs finish within [Options.Drain], ends what has not,
// and closes the clients last. A second signal ends it at once.
package factory
