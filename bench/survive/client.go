package survive

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// A client makes one call, and says whether it was answered well.
type client struct {
	name  string
	do    func(method string) bool
	close func()
}

// clients are one of each, for the demand.
func clients(d capacity.Demand, url func() string) ([]client, error) {
	bare := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	semaphore := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	semaphore.Transport.(*http.Transport).MaxIdleConnsPerHost = 64
	places := make(chan struct{}, 64)
	bareURL, semaphoreURL := url(), url()
	all := []client{
		{"net/http", func(method string) bool {
			ctx, cancel := context.WithTimeout(context.Background(), d.Deadline)
			defer cancel()
			return good(ctx, bare, method, bareURL)
		}, bare.CloseIdleConnections},
		{"semaphore of 64", func(method string) bool {
			ctx, cancel := context.WithTimeout(context.Background(), d.Deadline)
			defer cancel()
			select {
			case places <- struct{}{}:
				defer func() { <-places }()
			case <-ctx.Done():
				return false
			}
			return good(ctx, semaphore, method, semaphoreURL)
		}, semaphore.CloseIdleConnections},
	}
	need, err := needAlone(d)
	if err != nil {
		return nil, err
	}
	plan, err := d.Plan()
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		name string
		plan capacity.Plan
	}{{fmt.Sprintf("the need alone: %d places", need.InFlight), need}, {fmt.Sprintf("the default: %d places", plan.InFlight), plan}} {
		target := url()
		c, err := httpclient.New(target, p.plan, &httpclient.Options{Registerer: prometheus.NewRegistry()})
		if err != nil {
			return nil, err
		}
		all = append(all, client{p.name, func(method string) bool {
			ctx, cancel := context.WithTimeout(context.Background(), d.Deadline)
			defer cancel()
			return good(ctx, c.Client, method, target)
		}, func() { c.Close() }})
	}
	return all, nil
}

// needAlone is a plan of what the stated latency needs, twice the mean or a chance
// to wait of 5 %, and half of the time for a second attempt: what a plan was before
// it forgave a slow upstream.
func needAlone(d capacity.Demand) (capacity.Plan, error) {
	load := capacity.Little(d.Rate, d.Latency.Seconds()) / float64(d.Replicas)
	n, err := capacity.PlacesFor(load, 0.05)
	if err != nil {
		return capacity.Plan{}, err
	}
	n = max(n, int(math.Ceil(2*load)))
	deadline := d.Deadline / 10 * 9
	wait := deadline / 20
	return capacity.Plan{
		InFlight: n, Deadline: deadline, Wait: wait, Attempts: 2, Attempt: deadline / 10 * 9 / 2, Once: deadline / 10 * 9 / 2,
		Queue: max(1, int(capacity.MaxRate(n, d.Latency.Seconds())*wait.Seconds())),
	}.Resolve()
}

func good(ctx context.Context, c *http.Client, method, url string) bool {
	req, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return false
	}
	resp, err := c.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil && resp.StatusCode == http.StatusOK
}

// every calls f at once and then each interval, n times in all.
func every(interval time.Duration, n int, f func(i int)) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range n {
		f(i)
		<-tick.C
	}
}
