package grpcclient

import (
	"context"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/offtake-go/offtake/internal/telemetry"
)

// diagnostics measures the wait for a stream from the events of grpc-go: from the
// begin of an attempt, or the end of its pick if that had to wait, to the header
// that goes out once there is a stream. Its begins without an end, of which there
// is one for each transparent retry, measure nothing: only a header does.
type diagnostics struct {
	rpc **telemetry.RPC // made after the channels
}

var _ stats.Handler = (*diagnostics)(nil)

type momentKey struct{}

// moment is when an attempt last had something to wait for.
type moment struct{ since time.Time }

// TagRPC implements stats.Handler.
func (d *diagnostics) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, momentKey{}, &moment{time.Now()})
}

// HandleRPC implements stats.Handler.
func (d *diagnostics) HandleRPC(ctx context.Context, s stats.RPCStats) {
	m, ok := ctx.Value(momentKey{}).(*moment)
	if !ok {
		return
	}
	switch s.(type) {
	case *stats.Begin, *stats.DelayedPickComplete:
		m.since = time.Now()
	case *stats.OutHeader:
		(*d.rpc).StreamWait(time.Since(m.since))
	}
}

// TagConn implements stats.Handler.
func (d *diagnostics) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (d *diagnostics) HandleConn(context.Context, stats.ConnStats) {}
