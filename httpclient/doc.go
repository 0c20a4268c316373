// Package httpclient calls one upstream over HTTP.
//
// A [Client] is a *http.Client with sizes: a bounded number of requests in
// flight and a bounded queue for them in front of a connection pool of the same
// size, a bound on every wait, retries as a share of requests, and a histogram
// for each wait. [New] takes the sizes from a capacity.Plan, which follows from
// the traffic.
//
// # The life of a call
//
// A call waits in turn for a place, in no way longer than Plan.Wait. A refused
// call has sent nothing: its error is an *offtake.Error that wraps
// offtake.ErrBusy. With a place it waits for a connection, which is there once
// the pool is warm, and then up to Plan.Attempt for the response's headers, or up
// to Plan.Once if it may not be repeated. The place is held until the body ends:
// read to its end, closed, failed, or out of time. The body must make progress
// within Plan.BodyIdle, and the whole call ends within Plan.Deadline. [Stream]
// lifts that last bound for what is meant to last.
//
// The caller's context, when shorter, wins, and its cause is what the caller
// sees.
//
// # The end of a call
//
// Whatever the upstream and the request's body do, a call returns within its
// bounds, its place is back, its connection is closed or free, and its error names
// who ended it. After that the request's body is closed, once, and not read: only a
// Read that was asked for before may still begin. A response that nobody closes
// ends with its context, within 100 ms. A wrapper, a jar or a trace hook that blocks
// is not bounded: it runs on the caller's goroutine.
//
// While a request's body moves, Plan.BodyIdle bounds each pause, and then
// Plan.Attempt begins. A body that may block, which is any but a bytes.Reader,
// bytes.Buffer or strings.Reader as http.NewRequest takes them, is read on a
// goroutine of its own. A Read or Close that never returns keeps that goroutine,
// and neither place nor connection; Stats.Stuck counts them.
//
// # What comes back
//
// A response of any status is a response, a 429 or 503 too, after the retries
// that its plan allows. Everything else is a *url.Error, as from any
// *http.Client, around one of: an *offtake.Error for a refusal, a
// [*TimeoutError] for a bound of this client, a [*CallerError] for a request's body
// that failed, the context's cause for one of the caller, a [*HostError],
// [*RedirectError], [*BodyLimitError] or [*HeaderLimitError] for what this client
// does not do, or the error of net/http as it is; and around it a [*RetryError] when there was more than one attempt, or a
// [*OneShotError] when there might have been. [Retried] tells the same of a
// response.
package httpclient
