package factory

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/capacity/contract"
	"github.com/offtake-go/offtake/httpclient"
)

const spoken = `
service: checkout
replicas: {min: 1}
upstreams:
  fraud: {target: "127.0.0.1:1", protocol: grpc, inFlight: 2}
`

func TestAProtocolThatIsNotLinkedIsNamedWithWhatToWrite(t *testing.T) {
	_, err := Open(write(t, spoken), &Options{Registerer: prometheus.NewRegistry()})
	for _, part := range []string{"offtake.yaml:5", "upstream fraud", `"github.com/offtake-go/offtake/factory/grpcfactory"`, "grpcfactory.Protocol(nil)", "Options.Protocols"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Open() = %v, want it to contain %q", err, part)
		}
	}
}

// fake is a protocol whose clients are those of HTTP.
func fake(configured ...string) Protocol {
	return Protocol{Name: contract.GRPC, Configured: configured, New: func(name string, _ contract.Upstream, plan capacity.Plan, o Options) (Client, error) {
		c, err := httpclient.New("http://127.0.0.1:1", capacity.Plan{InFlight: plan.InFlight}, &httpclient.Options{Name: name, Registerer: o.Registerer})
		if err != nil {
			return nil, err
		}
		return other{httpClient{c}}, nil
	}}
}

type other struct{ httpClient }

func (other) Warm(context.Context) error { return errors.New("nobody there") }

func TestAClientOfAnotherProtocolIsNotAnHTTPClient(t *testing.T) {
	s, _ := open(t, write(t, spoken), Options{Protocols: []Protocol{fake("fraud")}})
	if _, err := s.HTTP("fraud"); err == nil || !strings.Contains(err.Error(), "grpcfactory.Conn") {
		t.Errorf("HTTP(fraud) = %v, want an error that names grpcfactory.Conn", err)
	}
	if c, err := s.Client("fraud"); err != nil || c.State().Plan.InFlight != 2 {
		t.Errorf("Client(fraud) = %v, %v, want one with the file's 2 places", c, err)
	}
}

func TestOptionsForAnUpstreamOfAnotherProtocolAreAMistake(t *testing.T) {
	_, err := Open(write(t, spoken), &Options{
		Registerer: prometheus.NewRegistry(), Protocols: []Protocol{fake("fruad"), {}},
		HTTP: map[string]httpclient.Options{"fraud": {}},
	})
	for _, part := range []string{"Options.Protocols[1]"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Open() = %v, want it to contain %q", err, part)
		}
	}
	_, err = Open(write(t, spoken), &Options{
		Registerer: prometheus.NewRegistry(), Protocols: []Protocol{fake("fruad")},
		HTTP: map[string]httpclient.Options{"fraud": {}},
	})
	for _, part := range []string{`no upstream "fruad"`, `Options.HTTP: upstream "fraud" speaks grpc`} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("Open() = %v, want it to contain %q", err, part)
		}
	}
}
