package httpclient

import (
	"context"
	"errors"
	"net/http"
)

// dial warms by connections that were dialed beforehand and have carried
// nothing.
func (w *warming) dial(ctx context.Context) error {
	d := w.core.dialer
	d.stash.prune()
	err := w.each(ctx, w.want-d.open(), w.dialOne)
	d.stash.prune()
	w.got = d.open()
	return err
}

// renew replaces, one after the other, what would be gone from the reserve before
// the next look, and then opens what is missing.
func (w *warming) renew(ctx context.Context) error {
	d := w.core.dialer
	for age := w.core.options.Idle * 2 / 5; d.stash.dropOldest(age); {
		if err := d.pace.Wait(ctx); err != nil {
			return err
		}
		if err := w.dialOne(ctx); err != nil {
			return err
		}
	}
	return w.dial(ctx)
}

func (w *warming) dialOne(ctx context.Context) error {
	d := w.core.dialer
	address := w.core.target.dialAddress()
	config := d.tls
	if w.core.target.scheme != "https" {
		config = nil
	}
	c, err := d.dial(ctx, "tcp", address, config)
	if err != nil {
		return err
	}
	if !d.stash.put(address, c, w.core.options.Idle) {
		return errClosedDialer
	}
	return nil
}

// refuse is for a proxy: what is dialed to it is no connection to the upstream.
func (w *warming) refuse(context.Context) error {
	return errors.New("a tunnel through a proxy can't be opened without a request; set Options.WarmPath")
}

// share warms by connections of HTTP/2, and a request on each if there is one to
// send.
func (w *warming) share(ctx context.Context) error {
	h := w.core.streams.hosts[w.core.target.host]
	free := w.core.plan.Load().Connections - w.core.dialer.slots.Snapshot().InFlight
	err := w.each(ctx, min(free, w.want-len(h.list())), func(ctx context.Context) error {
		c, err := h.connect(ctx)
		if err != nil || w.core.options.WarmPath == "" {
			return err
		}
		return w.send(ctx, c)
	})
	w.got = len(h.list())
	return err
}

// send sends the request for warming on an engine.
func (w *warming) send(ctx context.Context, engine http.RoundTripper) error {
	ctx, cancel := context.WithTimeout(ctx, w.core.plan.Load().Attempt)
	defer cancel()
	req := w.core.warmRequest(ctx)
	resp, err := engine.RoundTrip(req)
	if err != nil {
		return err
	}
	if err := unasked(resp, req); err != nil {
		return err
	}
	return finishWarm(req, resp)
}
