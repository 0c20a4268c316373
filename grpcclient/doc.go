// Package grpcclient calls one upstream over gRPC.
//
// A [Conn] is a grpc.ClientConnInterface with sizes, so that generated stubs take
// it: a bounded number of calls in flight and a bounded queue for them in front of
// a pool of connections of grpc-go, a bound on every wait, retries as a share of
// requests, and a histogram for each wait. [New] takes the sizes from a
// capacity.Plan, which follows from the traffic.
//
// # The life of a call
//
// A call waits in turn for a place, in no way longer than Plan.Wait. A refused
// call has sent nothing: its error is offtake.ErrBusy, and RESOURCE_EXHAUSTED for
// whoever reads status codes. With a place it waits for a connection, which is
// there once the pool is warm, and never for a stream on it: there are no more
// places than the server's limits on concurrent streams add up to. It is out for
// up to Plan.Attempt or Plan.Once, and the whole call ends within Plan.Deadline.
//
// The place is held until the call ends. A stream holds one too, and of all places
// streams may hold no more than Options.Streams. It must open within Plan.Once
// and make progress within Plan.BodyIdle while somebody waits for it, and it ends
// within Options.Lifetime.
//
// The caller's context, when shorter, wins, and its cause is what the caller sees.
//
// # What comes back
//
// The status of the upstream comes back as grpc-go returns it, after the retries
// that its plan and its [Method] allow. Every other error has a status as well,
// with a google.rpc.ErrorInfo in it, and is one of: a refusal, which is
// offtake.ErrBusy or offtake.ErrClosed and an *offtake.Error; a [*TimeoutError]
// for a bound of this client; a [*ContextError] for one of the caller; a
// [*ConnectError] with what is wrong with the connections; a [*RetryError] around
// the last cause when there was more than one attempt. [ReasonOf] tells those
// apart that share a code.
package grpcclient
