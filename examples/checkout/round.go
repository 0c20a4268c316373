package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// round is one way to build the gateway.
type round struct {
	title   string
	gateway func(upstream string, replica int) (handler http.Handler, stop func(), err error)
	after   func() // called when the orders are through and the servers still stand; may be nil
}

// play runs one round on servers of its own.
func play(ctx context.Context, in Incident, t *tally, out io.Writer, r round) error {
	fmt.Fprintln(out, r.title)
	p := &processor{in: in, tally: t, start: time.Now(), rng: rand.New(rand.NewPCG(in.seed, 2))}
	upstream, closeUpstream, err := serve(p)
	if err != nil {
		return err
	}
	defer closeUpstream()

	var atGateways atomic.Int64
	c := &callers{in: in, tally: t}
	for i := range in.replicas {
		handler, stop, err := r.gateway(upstream, i)
		if err != nil {
			return err
		}
		defer stop()
		url, closeReplica, err := serve(counted(&atGateways, handler))
		if err != nil {
			return err
		}
		defer closeReplica()
		c.urls = append(c.urls, url)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 10_000}
	defer transport.CloseIdleConnections()
	c.client = &http.Client{Transport: transport}

	p.start = time.Now()
	live := follow(in, t, out, func() (inFlight, atGateway int64) { return p.inFlight.Load(), atGateways.Load() })
	c.run(ctx, rand.New(rand.NewPCG(in.seed, 1)))
	live()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if r.after != nil {
		r.after()
	}
	return nil
}

// serve starts a server on a loopback address.
func serve(handler http.Handler) (url string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler}
	done := make(chan struct{})
	go func() {
		defer close(done)
		server.Serve(l)
	}()
	return "http://" + l.Addr().String(), func() {
		server.Close()
		<-done
	}, nil
}

func counted(n *atomic.Int64, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		defer n.Add(-1)
		next.ServeHTTP(w, r)
	})
}
