package fixes

import (
	"context"
	"net/http"

	own "fixes/clients"
)

func renamed(ctx context.Context, u string) (*http.Response, error) {
	own.Head(ctx, u, true)
	return http.Get(u) // want `OT101`
}

func shadowed(ctx context.Context, u string, own int) (*http.Response, error) {
	return http.Get(u) // want `OT101`
}
