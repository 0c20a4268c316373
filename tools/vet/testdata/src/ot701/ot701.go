package ot701

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

func Fetch(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", u, nil)
	if err != nil {
		return nil, err
	}
	return c.Do(req) // want `OT701: the response is returned, but the deferred cancel of ctx ends it before its body can be read`
}

func Do(c *http.Client, req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(req.Context(), time.Second)
	defer cancel()
	resp, err := c.Do(req.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	return resp, nil // want `OT701: .*`
}

func read(ctx context.Context, c *http.Client, u string) {
	resp, _ := fetch(ctx, c, u)
	io.Copy(io.Discard, resp.Body)
}

func fetch(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	return c.Do(req) // want `OT701: .*`
}

func Buffered(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	resp, err := c.Do(req)
	if err != nil {
		return resp, err
	}
	data, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return resp, err
}

func Status(ctx context.Context, c *http.Client, u string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	resp, err := c.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func Head(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodHead, u, nil)
	return c.Do(req)
}

func OtherContext(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	other, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = other
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	return c.Do(req)
}

func CancelOnClose(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	resp, err := c.Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = body{resp.Body, cancel}
	return resp, nil
}

type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func OnErrorOnly(ctx context.Context, c *http.Client, u string) (_ *http.Response, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	return c.Do(req)
}

func Wrapped(ctx context.Context, c *http.Client, u string, buffer func(*http.Response)) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	resp, err := c.Do(req)
	buffer(resp)
	return resp, err
}

func statusOnly(ctx context.Context, c *http.Client, u string) {
	resp, _ := ping(ctx, c, u)
	resp.Body.Close()
}

func ping(ctx context.Context, c *http.Client, u string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	return c.Do(req)
}

func Sometimes(ctx context.Context, c *http.Client, u string, bound bool) (*http.Response, error) {
	if bound {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Second)
		defer cancel()
	}
	req, _ := http.NewRequestWithContext(ctx, "GET", u, nil)
	return c.Do(req)
}
