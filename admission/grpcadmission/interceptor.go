package grpcadmission

import (
	"context"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/offtake-go/offtake/internal/incoming"
)

// Unary is a grpc.UnaryServerInterceptor. The place is held until the handler
// returns or panics.
func (g *Guard) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if g.isExempt(info.FullMethod) {
		return handler(ctx, req)
	}
	ctx = told(ctx)
	place, err := g.door.Acquire(ctx)
	if err != nil {
		trailer, err := g.answer.to(ctx, err)
		if trailer != nil {
			_ = grpc.SetTrailer(ctx, trailer) // it fails only outside of a server
		}
		return nil, err
	}
	place.Status = http.StatusInternalServerError // if the handler panics
	defer place.Release()
	defer g.watch(ctx)()
	resp, err := handler(ctx, req)
	place.Status = httpStatus(status.Code(err))
	return resp, err
}

// Stream is a grpc.StreamServerInterceptor. The place is held until the handler
// returns or panics: for the life of the stream.
func (g *Guard) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if g.isExempt(info.FullMethod) {
		return handler(srv, ss)
	}
	ctx := told(ss.Context())
	place, err := g.door.Acquire(ctx)
	if err != nil {
		trailer, err := g.answer.to(ctx, err)
		ss.SetTrailer(trailer)
		return err
	}
	if ctx != ss.Context() {
		ss = &stream{ss, ctx}
	}
	place.Status = http.StatusInternalServerError // if the handler panics
	defer place.Release()
	defer g.watch(ctx)()
	err = handler(srv, ss)
	place.Status = httpStatus(status.Code(err))
	return err
}

// stream is a stream whose context knows more.
type stream struct {
	grpc.ServerStream
	ctx context.Context
}

func (s *stream) Context() context.Context { return s.ctx }

// The metadata that say which attempt this is: grpc's own, of the gRFC A6, counts
// those before this one; Envoy's counts this one too.
const (
	previousAttempts = "grpc-previous-rpc-attempts"
	envoyAttempt     = "x-envoy-attempt-count"
)

// told is the call's context with the attempt that it is, the larger one if two
// layers count. Its time left is in the context already: that is grpc's work.
func told(ctx context.Context) context.Context {
	attempt := 0
	if n, ok := incoming.ParseAttempt(metadata.ValueFromIncomingContext(ctx, previousAttempts)); ok {
		attempt = n + 1
	}
	if n, ok := incoming.ParseAttempt(metadata.ValueFromIncomingContext(ctx, envoyAttempt)); ok {
		attempt = max(attempt, n)
	}
	if attempt == 0 {
		return ctx
	}
	return incoming.NewContext(ctx, attempt)
}

// httpStatus is the status that google.rpc.Code gives beside each code; proxies
// read them so too.
func httpStatus(code codes.Code) int {
	switch code {
	case codes.OK:
		return http.StatusOK
	case codes.Canceled:
		return 499 // no name in net/http: nginx's "client closed request"
	case codes.InvalidArgument, codes.FailedPrecondition, codes.OutOfRange:
		return http.StatusBadRequest
	case codes.Unauthenticated:
		return http.StatusUnauthorized
	case codes.PermissionDenied:
		return http.StatusForbidden
	case codes.NotFound:
		return http.StatusNotFound
	case codes.AlreadyExists, codes.Aborted:
		return http.StatusConflict
	case codes.ResourceExhausted:
		return http.StatusTooManyRequests
	case codes.Unimplemented:
		return http.StatusNotImplemented
	case codes.Unavailable:
		return http.StatusServiceUnavailable
	case codes.DeadlineExceeded:
		return http.StatusGatewayTimeout
	default: // Unknown, Internal, DataLoss, and codes that do not exist
		return http.StatusInternalServerError
	}
}
