package httpclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/offtake-go/offtake/capacity"
)

func TestRelativeAddressesAreTheUpstreams(t *testing.T) {
	c, _ := loopback(t, capacity.Plan{InFlight: 1}, nil, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.URL.Path)
	})
	resp, err := c.Get("/authorize")
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, resp); got != "/authorize" {
		t.Errorf("path = %q, want /authorize", got)
	}
}

func TestOtherHostsAreRefused(t *testing.T) {
	c := newClient(t, "https://Processor.Example:443", capacity.Plan{InFlight: 1}, &Options{Hosts: []string{"eu.processor.example"}})
	for _, url := range []string{"https://evil.example/", "http://processor.example/", "https://processor.example:8443/"} {
		_, err := c.Get(url)
		if _, ok := errors.AsType[*HostError](err); !ok {
			t.Errorf("Get(%q) = %v, want a HostError", url, err)
		}
	}
}

func TestHostsInAnyCaseUseOnePool(t *testing.T) {
	c, server := loopback(t, capacity.Plan{InFlight: 1}, nil, slow(0))
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	named := newClient(t, "http://LocalHost:"+port, capacity.Plan{InFlight: 1}, &Options{Base: &http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
		},
	}})
	for _, host := range []string{"localhost", "LOCALHOST", "LocalHost"} {
		resp, err := named.Get("http://" + host + ":" + port + "/")
		if err != nil {
			t.Fatal(err)
		}
		read(t, resp)
	}
	wantCount(t, named, "dials_total", "", 1)
	wantCount(t, c, "dials_total", "", 0)
}
