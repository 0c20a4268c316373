package ot302

import (
	"context"
	"net/http"
)

func background(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", u, nil) // want `OT302: outbound request on context.Background\(\) although ctx is in scope`
	c.Do(req)
}

func todo(r *http.Request, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.TODO(), "GET", u, nil) // want `OT302: outbound request on context.TODO\(\) although r.Context\(\) is in scope`
	c.Do(req)
}

func passed(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	c.Do(req)
}

func detached(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.WithoutCancel(ctx), "GET", u, nil)
	c.Do(req)
}

func none(c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", u, nil)
	c.Do(req)
}

func cleanup(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.Background(), "DELETE", u, nil)
	c.Do(req)
}

func onError(ctx context.Context, c *http.Client, u string, work func() error) {
	if err := work(); err != nil {
		req, _ := http.NewRequestWithContext(context.Background(), "DELETE", u, nil)
		c.Do(req)
	}
}

func fireAndForget(ctx context.Context, c *http.Client, u string) {
	go func() {
		req, _ := http.NewRequestWithContext(context.Background(), "POST", u, nil)
		c.Do(req)
	}()
}

func bound(ctx context.Context, c *http.Client, u string) {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", u, nil)
	c.Do(req.WithContext(ctx))
}

func neverSent(ctx context.Context, u string) *http.Request {
	req, _ := http.NewRequestWithContext(context.Background(), "GET", u, nil)
	return req
}
