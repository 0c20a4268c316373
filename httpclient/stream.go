package httpclient

import "context"

type streamKey struct{}

// Stream returns a context for calls that are meant to outlive Plan.Deadline:
// once the response's headers are there, only Plan.BodyIdle and ctx itself bound
// the body.
func Stream(ctx context.Context) context.Context {
	return context.WithValue(ctx, streamKey{}, true)
}

func isStream(ctx context.Context) bool { return ctx.Value(streamKey{}) != nil }
