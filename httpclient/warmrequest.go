package httpclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// warmRequest is GET for a path, or OPTIONS for the server as a whole.
func (c *core) warmRequest(ctx context.Context) *http.Request {
	method, path := http.MethodGet, c.options.WarmPath
	if path == "*" {
		method = http.MethodOptions
	}
	req := &http.Request{
		Method: method,
		URL:    &url.URL{Scheme: c.target.scheme, Host: c.target.host, Path: path},
		Header: make(http.Header),
		Proto:  "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	return req.WithContext(ctx)
}

// finishWarm drains the response, or its connection would not be kept.
func finishWarm(req *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	if _, err := io.CopyN(io.Discard, resp.Body, drainBytes); err != nil && err != io.EOF {
		return err
	}
	if resp.StatusCode >= 400 && req.Method == http.MethodGet {
		return fmt.Errorf("GET %s: status %d; below 400 is warm", req.URL.Path, resp.StatusCode)
	}
	return nil
}
