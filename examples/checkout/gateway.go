package main

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// copiedGateway is a replica as it was in the incident: a pool size copied from
// another client, a timeout longer than its caller's patience, and a request
// that does not end when the caller leaves.
func copiedGateway(in Incident, t *tally, upstream string) (http.Handler, func(), error) {
	transport := &http.Transport{MaxConnsPerHost: in.copiedPool, MaxIdleConnsPerHost: in.copiedPool}
	client := &http.Client{Transport: transport, Timeout: in.fastTime(in.copiedTimeout)}
	handler := func(w http.ResponseWriter, r *http.Request) {
		resp, err := client.Do(t.authorization(context.Background(), upstream, r))
		if err != nil {
			http.Error(w, "authorization failed", http.StatusBadGateway)
			return
		}
		forward(w, resp)
	}
	return http.HandlerFunc(handler), transport.CloseIdleConnections, nil
}

// plannedGateway is a replica with a client sized from the traffic and a door of
// the same size in front.
func plannedGateway(ctx context.Context, in Incident, t *tally, upstream string, registry prometheus.Registerer) (http.Handler, func(), error) {
	plan, err := in.demand().Plan()
	if err != nil {
		return nil, nil, err
	}
	processor, err := httpclient.New(upstream, plan, &httpclient.Options{Name: "card-processor", Registerer: registry})
	if err != nil {
		return nil, nil, err
	}
	door, err := admission.New(capacity.Plan{
		InFlight: plan.InFlight + plan.Queue, // whoever may wait for the processor is let in
		Queue:    capacity.NoQueue,
	}, &admission.Options{Name: "gateway", Registerer: registry})
	if err != nil {
		return nil, nil, err
	}
	if err := processor.Warm(ctx); err != nil {
		return nil, nil, err
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		resp, err := processor.Do(t.authorization(r.Context(), upstream, r))
		if err != nil {
			admission.WriteError(w, err)
			return
		}
		forward(w, resp)
	}
	stop := func() {
		door.Close()
		processor.Close()
	}
	return door.Handler(http.HandlerFunc(handler)), stop, nil
}

// demand is what the gateway knew of its traffic before the incident.
func (in Incident) demand() capacity.Demand {
	return capacity.Demand{
		Rate:     in.rate * in.scale,
		Latency:  in.fastTime(in.slow),
		Replicas: in.replicas,
		Limit:    in.limit,
		Headroom: min(1.3, float64(in.limit)/(in.rate*in.slow.Seconds())),
		Deadline: in.fastTime(in.giveUp),
	}
}

// authorization is the gateway's own request for an order.
func (t *tally) authorization(ctx context.Context, upstream string, order *http.Request) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, upstream+"/authorize", http.NoBody)
	if err != nil {
		panic(err) // the address is that of a server in this program
	}
	req.Header.Set(tryHeader, order.Header.Get(tryHeader))
	t.tryOf(order).called(time.Now())
	return req
}

func forward(w http.ResponseWriter, resp *http.Response) {
	defer resp.Body.Close()
	w.WriteHeader(resp.StatusCode)
	io.Copy(w, resp.Body)
}
