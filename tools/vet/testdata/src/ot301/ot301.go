package ot301

import (
	"context"
	"net/http"
	"time"
)

type doer interface {
	Do(*http.Request) (*http.Response, error)
}

type api struct {
	client *http.Client
	doer   doer
}

func (a *api) parameter(ctx context.Context, u string) {
	req, err := http.NewRequest("GET", u, nil) // want `OT301: http.NewRequest drops the context in scope \(ctx\)`
	if err != nil {
		return
	}
	req.Header.Set("Accept", "text/plain")
	a.client.Do(req)
}

func (a *api) handler(w http.ResponseWriter, r *http.Request) {
	req, _ := http.NewRequest(r.Method, "https://peer.example", r.Body) // want `OT301: .*\(r.Context\(\)\)`
	a.doer.Do(req)
}

func (a *api) sentByCallee(parent context.Context, u string) {
	ctx, cancel := context.WithTimeout(parent, time.Second)
	defer cancel()
	req, _ := http.NewRequest("GET", u, nil) // want `OT301: .*`
	a.send(req)
	<-ctx.Done()
}

func (a *api) send(req *http.Request) {
	req.SetBasicAuth("user", "password")
	a.client.Do(req)
}

func (a *api) inPlace(ctx context.Context, u string) {
	func() {
		req, _ := http.NewRequest("GET", u, nil) // want `OT301: .*`
		a.client.Do(req)
	}()
}

func (a *api) noContext(u string) {
	req, _ := http.NewRequest("GET", u, nil)
	a.client.Do(req)
}

func (a *api) blank(_ context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	a.client.Do(req)
}

func (a *api) later(ctx context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	a.client.Do(req.WithContext(ctx))
}

func (a *api) reassigned(ctx context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	req = req.WithContext(ctx)
	a.client.Do(req)
}

func (a *api) cloned(ctx context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	a.client.Do(req.Clone(ctx))
}

func (a *api) built(ctx context.Context, u string) (*http.Request, error) {
	return http.NewRequest("GET", u, nil)
}

func (a *api) returned(ctx context.Context, u string) *http.Request {
	req, _ := http.NewRequest("GET", u, nil)
	return req
}

func (a *api) boundByCallee(ctx context.Context, u string) {
	req, _ := http.NewRequest("GET", u, nil)
	a.do(ctx, req)
}

func (a *api) do(ctx context.Context, req *http.Request) {
	a.client.Do(req.WithContext(ctx))
}

func (a *api) unknownCallee(ctx context.Context, u string, do func(context.Context, *http.Request)) {
	req, _ := http.NewRequest("GET", u, nil)
	do(ctx, req)
}

func (a *api) served(ctx context.Context, h http.Handler, w http.ResponseWriter) {
	req, _ := http.NewRequest("GET", "/", nil)
	h.ServeHTTP(w, req)
}

func (a *api) goroutine(ctx context.Context, u string) {
	go func() {
		req, _ := http.NewRequest("GET", u, nil)
		a.client.Do(req)
	}()
}

func (a *api) deferred(ctx context.Context, u string) {
	defer func() {
		req, _ := http.NewRequest("DELETE", u, nil)
		a.client.Do(req)
	}()
}

func (a *api) handedOn(ctx context.Context, u string, retry func(func())) {
	retry(func() {
		req, _ := http.NewRequest("GET", u, nil)
		a.client.Do(req)
	})
}

func (a *api) afterDone(ctx context.Context, u string) {
	<-ctx.Done()
	req, _ := http.NewRequest("POST", u, nil)
	a.client.Do(req)
}

func (a *api) inDone(ctx context.Context, u string, tick chan int) {
	select {
	case <-tick:
	case <-ctx.Done():
		req, _ := http.NewRequest("POST", u, nil)
		a.client.Do(req)
	}
}

func (a *api) ended(ctx context.Context, u string) {
	if ctx.Err() != nil {
		req, _ := http.NewRequest("POST", u, nil)
		a.client.Do(req)
	}
}

func (a *api) Shutdown(ctx context.Context, u string) {
	req, _ := http.NewRequest("POST", u, nil)
	a.client.Do(req)
}

func (a *api) onlyBackground(u string) context.Context {
	ctx := context.Background()
	req, _ := http.NewRequest("GET", u, nil)
	a.client.Do(req)
	return ctx
}

func (a *api) declaredAfter(u string) context.Context {
	req, _ := http.NewRequest("GET", u, nil)
	a.client.Do(req)
	ctx, _ := context.WithCancel(context.Background())
	return ctx
}

func (a *api) otherScope(u string) {
	if true {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		_ = ctx
	}
	req, _ := http.NewRequest("GET", u, nil)
	a.client.Do(req)
}

func (a *api) shadowed(ctx context.Context, u string) {
	for _, ctx := range []int{1} {
		_ = ctx
		req, _ := http.NewRequest("GET", u, nil)
		a.client.Do(req)
	}
}
