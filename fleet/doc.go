// Package fleet says which part of a limit this replica may use, while replicas
// come and go.
//
// A limit of 200 places at an upstream is for all replicas together. Divided by
// the number of replicas written down somewhere, it is broken when the autoscaler
// adds some and wasted when it removes some. A [Source] follows the fleet and
// resizes the client:
//
//	source, err := fleet.NewDNS("checkout.shop.svc.cluster.local.", whole, 24, nil)
//	client, err := httpclient.New(target, source.Floor(), options)
//	running.Go(func() { source.Follow(ctx, client.Resize, nil) })
//
// There are four:
//
//   - [Static], for a fleet whose size is known;
//   - [NewDNS], which counts the addresses of a headless Service;
//   - package kubefleet, which counts the endpoints of a Service with the
//     Kubernetes API (a module of its own);
//   - package redisfleet, which leases places through Redis or Valkey, so that a
//     busy replica has what an idle one does not need (a module of its own).
//
// # What is promised
//
// All but Static keep one promise: the places in use over all replicas are never
// more than the limit, as long as no more replicas are alive than stated. It holds
// while replicas join, die without a word, are cut off, and while the source of
// the count is slow, stale or gone.
//
// It holds because every replica has a floor, reserved for it whether it is there
// or not: see [Reserve]. A newcomer starts with its floor alone, and gets more
// once all others have given it up. A replica that is cut off goes back to its
// floor before the others may count on that. No replica ever needs another one, or
// the store, to serve its floor.
//
// What no source here can bound is a process that stands still, as a paused
// virtual machine does, while calls of its own are out: their places count again
// for others once it should have given them up. Its deadlines end those calls
// when it wakes.
package fleet
