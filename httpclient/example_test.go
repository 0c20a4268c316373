package httpclient_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/httpclient"
)

// upstream answers in place of somebody else's service.
func upstream(handler http.HandlerFunc) *httptest.Server { return httptest.NewServer(handler) }

// isolated keeps the metrics of an example off the default registry.
func isolated(name string) *httpclient.Options {
	return &httpclient.Options{Name: name, Registerer: prometheus.NewRegistry()}
}

func Example() {
	server := upstream(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "authorized") })
	defer server.Close()

	// The sizes follow from the traffic: 120 requests a second, of 1.2 s each, by
	// six replicas, to an upstream that takes 200 at once.
	demand := capacity.Demand{Rate: 120, Latency: 1200 * time.Millisecond, Replicas: 6, Limit: 200, Headroom: 1.3, Deadline: 5 * time.Second}
	plan, err := demand.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	processor, err := httpclient.New(server.URL, plan, isolated("card-processor"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer processor.Close()

	resp, err := processor.Get("/authorize")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Println(resp.StatusCode, string(body))
	// Output: 200 authorized
}

func ExampleNew_mistakes() {
	_, err := httpclient.New("processor.example/v1", capacity.Plan{InFlight: 24, Attempts: 11}, &httpclient.Options{Idle: 48 * time.Hour})
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Println(line)
	}
	// Output:
	// httpclient: target: "processor.example/v1" has no scheme http or https; one like "https://processor.example" would do
	// target: "processor.example/v1" has more than a host; paths belong to requests
	// capacity: Plan.Attempts: 11 is not in [1, 10]: more attempts add load and no answers, and NoRetry is one; 10 would do, or 0 for the default
	// Options.Idle: 48h0m0s is not in (0s, 1h0m0s]; 45s would do, or 0 for it
}

func ExampleClient_Warm() {
	server := upstream(func(http.ResponseWriter, *http.Request) {})
	defer server.Close()
	options := isolated("ledger")
	options.WarmPath = "/healthz"
	ledger, err := httpclient.New(server.URL, capacity.Plan{InFlight: 8}, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ledger.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = ledger.Warm(ctx)
	fmt.Println(err, ledger.Stats().Open)
	// Output: <nil> 8
}

func ExampleStream() {
	server := upstream(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			fmt.Fprintf(w, "event %d\n", i)
			w.(http.Flusher).Flush()
		}
	})
	defer server.Close()
	events, err := httpclient.New(server.URL, capacity.Plan{InFlight: 4, BodyIdle: 30 * time.Second}, isolated("events"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer events.Close()

	// The stream may last for hours; but each event within 30 s of the last.
	req, _ := http.NewRequestWithContext(httpclient.Stream(context.Background()), "GET", "/events", nil)
	resp, err := events.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Print(string(body))
	// Output:
	// event 0
	// event 1
	// event 2
}

// sdk stands for a library that brings its own requests and takes a client.
type sdk struct{ http *http.Client }

func (s sdk) balance() (string, error) {
	resp, err := s.http.Get("/balance") // an SDK would have the whole address
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

func ExampleClient_sdk() {
	server := upstream(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "42") })
	defer server.Close()
	bank, err := httpclient.New(server.URL, capacity.Plan{InFlight: 4}, isolated("bank"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bank.Close()

	fmt.Println(sdk{http: bank.Client}.balance()) // every bound holds there too
	// Output: 42 <nil>
}

// signer stands for what was wrapped around a transport before.
type signer struct{ next http.RoundTripper }

func (s signer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", "Bearer token")
	return s.next.RoundTrip(req)
}

// A client that there is already, with a transport of its own and something wrapped
// around it, keeps both:
//
//	&http.Client{Timeout: 5 * time.Second, Transport: signer{transport}}
func ExampleOptions_existing() {
	server := upstream(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Header.Get("Authorization")) })
	defer server.Close()
	transport := &http.Transport{
		Proxy:           http.ProxyFromEnvironment,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}, // with roots and client certificates
	}

	options := isolated("bank")
	options.Base = transport
	options.Wrap = func(next http.RoundTripper) http.RoundTripper { return signer{next} }
	demand := capacity.Demand{Rate: 20, Latency: 80 * time.Millisecond, Replicas: 2, Deadline: 5 * time.Second}
	plan, err := demand.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	bank, err := httpclient.New(server.URL, plan, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bank.Close()

	// What takes an http.RoundTripper takes this one, with every bound in it.
	own := http.Client{Transport: bank.Transport}
	fmt.Println(sdk{http: &own}.balance())
	// Output: Bearer token <nil>
}

func ExampleClient_retries() {
	tries := 0
	server := upstream(func(w http.ResponseWriter, r *http.Request) {
		if tries++; tries < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, "paid once, by %s", r.Header.Get("Idempotency-Key"))
	})
	defer server.Close()
	bank, err := httpclient.New(server.URL, capacity.Plan{InFlight: 4, Attempts: 3}, isolated("bank"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer bank.Close()

	// Without the key a POST is sent once: the 503 may have come after the work.
	req, _ := http.NewRequest("POST", "/pay", strings.NewReader("10 EUR"))
	req.Header.Set("Idempotency-Key", "order-7")
	resp, err := bank.Do(req)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	fmt.Printf("%s, after %d attempts\n", body, httpclient.Retried(resp).Attempts)
	// Output: paid once, by order-7, after 3 attempts
}

func ExampleClient_busy() {
	release := make(chan struct{})
	server := upstream(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		<-release
	})
	defer server.Close()
	small, err := httpclient.New(server.URL, capacity.Plan{InFlight: 1, Queue: capacity.NoQueue}, isolated("small"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer small.Close()

	first, err := small.Get("/") // holds its place until the body ends
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = small.Get("/")
	if refusal, ok := errors.AsType[*offtake.Error](err); ok {
		fmt.Printf("%v: %d of %d places\n", refusal.Err, refusal.InFlight, refusal.Places)
	}
	close(release)
	first.Body.Close()
	// Output: busy: 1 of 1 places
}
