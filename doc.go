// Package offtake holds the words that all packages of this module share: the
// two refusals, [ErrBusy] and [ErrClosed], and [Error], which carries their
// facts.
//
// An offtake is the gate through which a measured flow is drawn from someone
// else's supply. A service draws on its upstreams in the same way: this module
// derives the size of each gate from the traffic (package capacity), bounds
// every call in time, shows every wait, says busy where a service is only busy,
// and opens readiness only when the pools are warm.
//
// Package factory builds a whole service from one file. By hand one begins with a
// capacity.Demand and a client of package httpclient or grpcclient: see the
// examples.
package offtake
