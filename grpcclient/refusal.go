package grpcclient

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/internal/gate"
)

// refusal is a call that had no place. Those at once are made beforehand, because
// to say no must cost nothing: such a one reads the gate's numbers when it is
// asked for them, as an *offtake.Error or as text.
type refusal struct {
	upstream string
	gate     *gate.Gate
	cause    *gate.Refusal
	waited   time.Duration
	status   *status.Status
}

// facts are the numbers of the moment.
func (r *refusal) facts() *offtake.Error { return r.gate.Explain(r.upstream, r.waited, r.cause) }

// Error names the upstream, the refusal and its numbers.
func (r *refusal) Error() string { return r.facts().Error() }

// Unwrap is offtake.ErrBusy or offtake.ErrClosed.
func (r *refusal) Unwrap() error { return r.cause.Unwrap() }

// As has errors.As find an *offtake.Error.
func (r *refusal) As(target any) bool {
	e, ok := target.(**offtake.Error)
	if ok {
		*e = r.facts()
	}
	return ok
}

// GRPCStatus is RESOURCE_EXHAUSTED, or UNAVAILABLE for a client that is closed.
func (r *refusal) GRPCStatus() *status.Status { return r.status }

// refusals are those of one gate.
type refusals [gate.Reasons]*refusal

func newRefusals(upstream string, g *gate.Gate) *refusals {
	var all refusals
	for i := range all {
		r := &refusal{upstream: upstream, gate: g, cause: &gate.Refusal{Reason: gate.Reason(i)}}
		switch r.cause.Reason {
		case gate.Closed:
			r.status = withReason(codes.Unavailable, "the client is closed", ClientClosed)
		case gate.QueueFull:
			r.status = withReason(codes.ResourceExhausted, "the client is busy: places and queue are full", QueueFull)
		default:
			r.status = withReason(codes.ResourceExhausted, "the client is busy: no place in time", QueueTimeout)
		}
		all[i] = r
	}
	return &all
}

// of is the refusal for a reason, after a wait.
func (all *refusals) of(reason gate.Reason, waited time.Duration) error {
	r := all[reason]
	if waited == 0 {
		return r
	}
	slow := *r
	slow.waited = waited
	return &slow
}
