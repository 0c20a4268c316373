package clients

import (
	"context"
	"net/http"
)

func Get(ctx context.Context, url string) (*http.Response, error) { return nil, nil }

// Head has another shape, and so is no replacement for http.Head.
func Head(ctx context.Context, url string, retry bool) (*http.Response, error) { return nil, nil }
