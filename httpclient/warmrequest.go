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

// warmBy sends the request. What the transport of Options.Wrap does wrong is an
// error, and no end of the process: nobody else could recover on these goroutines.
func warmBy(engine http.RoundTripper, req *http.Request) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in the transport of Options.Wrap: %v", v)
		}
	}()
	resp, err := engine.RoundTrip(req)
	switch {
	case err != nil:
		return err
	case resp == nil:
		return errNothing
	case resp.Body == nil:
		resp.Body = http.NoBody
	}
	if err := unasked(resp, req); err != nil {
		return err
	}
	return finishWarm(req, resp)
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
