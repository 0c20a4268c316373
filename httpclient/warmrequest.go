package httpclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"sync/atomic"
)

// request warms by requests, each on a connection of its own: none goes on
// before all have theirs. It takes only places that are free. Those that are not
// have a connection already.
func (w *warming) request(ctx context.Context) error {
	n := w.enter()
	defer w.leave(n)
	w.got = w.want - n
	if n == 0 {
		return nil
	}
	if err := w.round(ctx, 1); err != nil {
		return err
	}
	w.got = w.want - n // the first has its turn again, with the others
	return w.round(ctx, n)
}

func (w *warming) enter() (n int) {
	for n < w.want && w.core.gate.TryEnter() {
		n++
	}
	return n
}

func (w *warming) leave(n int) {
	for range n {
		w.core.gate.Leave()
	}
}

// round sends n requests at once, and adds the connections that the pool had
// afterwards. That it says so is the only proof: a connection that was accepted
// may be one in a backlog that nobody serves, and a response may have closed its
// own.
func (w *warming) round(ctx context.Context, n int) error {
	var kept atomic.Int64
	b := &barrier{missing: n, open: make(chan struct{})}
	err := w.all(ctx, n, func(ctx context.Context) error {
		arrive := sync.OnceFunc(b.arrive)
		defer arrive()
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) {
				arrive()
				b.wait(ctx)
			},
			PutIdleConn: func(err error) {
				if err == nil {
					kept.Add(1)
				}
			},
		})
		return w.send(ctx, w.core.engine)
	})
	w.got += int(kept.Load())
	if err == nil && int(kept.Load()) < n {
		err = errors.New("the upstream answers, and closes its connections (Connection: close, or no keep-alive)")
	}
	return err
}

// barrier opens when nobody is missing.
type barrier struct {
	mu      sync.Mutex
	missing int
	open    chan struct{}
}

func (b *barrier) arrive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing--; b.missing == 0 {
		close(b.open)
	}
}

func (b *barrier) wait(ctx context.Context) {
	select {
	case <-b.open:
	case <-ctx.Done():
	}
}

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
