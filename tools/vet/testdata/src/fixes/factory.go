package fixes

import (
	"context"
	"net/http"
)

func get(ctx context.Context, u string) (*http.Response, error) {
	http.Head(u)       // want `OT101`
	return http.Get(u) // want `OT101`
}
