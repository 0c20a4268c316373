// Package offtaketest has upstreams for tests, with trouble that follows a script.
//
//	u := offtaketest.Loopback(t, nil, offtaketest.Busy(time.Second), offtaketest.OK("paid"))
//	processor := u.Client(t, capacity.Plan{}, nil)
//	resp, err := processor.Get("/orders") // busy first, and then paid
//	u.WantSent(t, "GET /orders", "GET /orders")
//
// [Loopback] listens on real sockets. [Pipes] has none, so that it runs in a
// bubble of testing/synctest, where a minute of hanging takes no time. Package
// grpcupstream is the same for gRPC, apart so that tests of HTTP do not link it.
package offtaketest
