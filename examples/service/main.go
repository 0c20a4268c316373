// Command service is a whole service built by package factory: two upstreams over
// HTTP and one over gRPC, a door, readiness, metrics, and a stop that loses
// nothing.
//
//	go run ./examples/service -upstreams        # with upstreams of its own
//	curl -i localhost:8080/checkout
//	curl -i 'localhost:8080/readyz?verbose'
//	open http://localhost:8082/debug/offtake
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"

	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/factory/grpcfactory"
	"github.com/offtake-go/offtake/grpcclient"
	"github.com/offtake-go/offtake/httpclient"
)

func main() {
	var c config
	flags := c.flags(flag.ExitOnError)
	_ = flags.Parse(os.Args[1:]) // it exits
	if err := run(context.Background(), c); err != nil {
		fmt.Fprintln(os.Stderr, "service:", err)
		os.Exit(1)
	}
}

// config is what a deployment decides.
type config struct {
	contract  string
	upstreams bool
	options   factory.Options
}

func (c *config) flags(onError flag.ErrorHandling) *flag.FlagSet {
	c.options.Protocols = plaintext
	flags := flag.NewFlagSet("service", onError)
	flags.StringVar(&c.contract, "contract", "examples/service/offtake.yaml", "the `file` that states the upstreams")
	flags.StringVar(&c.options.Address, "address", "127.0.0.1:8080", "where to listen")
	flags.StringVar(&c.options.Admin, "admin", "", "where to answer probes and scrapes; by default probes at -address")
	flags.StringVar(&c.options.Debug, "debug", "", "where to show the debug page; by default on 127.0.0.1:8082")
	flags.DurationVar(&c.options.Grace, "grace", 0, "how long a stop may take; 0 is 30s")
	flags.BoolVar(&c.upstreams, "upstreams", false, "start the upstreams of the file, too")
	return flags
}

// plaintext is for upstreams on this machine; the default is TLS.
var plaintext = []factory.Protocol{grpcfactory.Protocol(map[string]grpcclient.Options{
	"fraud-check": {Credentials: insecure.NewCredentials()},
})}

func run(ctx context.Context, c config) error {
	if c.upstreams {
		stop, err := startUpstreams("127.0.0.1:9001", "127.0.0.1:9002", "127.0.0.1:9003")
		if err != nil {
			return err
		}
		defer stop()
	}
	service, err := factory.Open(c.contract, &c.options)
	if err != nil {
		return err
	}
	app, err := newCheckout(service)
	if err != nil {
		return err
	}
	return service.Run(ctx, app)
}

// checkout takes an order: is it fraud, pay it, book it.
type checkout struct {
	fraud             grpc_health_v1.HealthClient
	processor, ledger *httpclient.Client
}

func newCheckout(service *factory.Service) (http.Handler, error) {
	fraud, err := grpcfactory.Conn(service, "fraud-check")
	if err != nil {
		return nil, err
	}
	processor, err := service.HTTP("card-processor")
	if err != nil {
		return nil, err
	}
	ledger, err := service.HTTP("ledger")
	if err != nil {
		return nil, err
	}
	return &checkout{grpc_health_v1.NewHealthClient(fraud), processor, ledger}, nil
}

// ServeHTTP handles one order.
func (c *checkout) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := c.order(r.Context()); err != nil {
		admission.WriteError(w, err)
		return
	}
	fmt.Fprintln(w, "thank you")
}

func (c *checkout) order(ctx context.Context) error {
	if _, err := c.fraud.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil {
		return fmt.Errorf("fraud-check: %w", err)
	}
	if err := post(ctx, c.processor, "/authorize"); err != nil {
		return fmt.Errorf("card-processor: %w", err)
	}
	if err := post(ctx, c.ledger, "/entries"); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

func post(ctx context.Context, c *httpclient.Client, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, path, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return admission.NewResponseError(resp) // busy there is busy here, with its time
	}
	return nil
}
