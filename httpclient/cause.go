package httpclient

import (
	"context"

	"github.com/offtake-go/offtake/internal/cause"
)

// causeOf is why a context that has ended did.
func causeOf(ctx context.Context) error { return cause.Of(ctx) }
