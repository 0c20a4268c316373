package httpclient

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/offtake-go/offtake/capacity"
)

func TestAnUpstreamThatTurnsHTTP2DownIsSpokenToInHTTP1(t *testing.T) {
	both := http2Only()
	both.SetHTTP1(true)
	server := httptest.NewUnstartedServer(slow(time.Millisecond))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	plan := capacity.Plan{InFlight: 8, Connections: 2, Streams: 4}
	c := newClient(t, server.URL, plan, &Options{Protocols: both, Base: &http.Transport{TLSClientConfig: rootsOf(server)}})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	if read(t, resp); resp.ProtoMajor != 1 {
		t.Errorf("protocol = %s, want HTTP/1.1", resp.Proto)
	}
	if got := c.Stats().Places; got != 2 {
		t.Errorf("places = %d, want 2: a place is a connection now", got)
	}
	if err := c.Warm(t.Context()); err != nil {
		t.Errorf("Warm() = %v, want nil", err)
	}
}

func TestAnUpstreamWithoutHTTP2FailsAClientThatSpeaksNothingElse(t *testing.T) {
	server := httptest.NewUnstartedServer(slow(0))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	c := newClient(t, server.URL, capacity.Plan{InFlight: 1}, &Options{Protocols: http2Only(), Base: &http.Transport{TLSClientConfig: rootsOf(server)}})
	if _, err := get(t, c, "/"); err == nil {
		t.Error("Get() = nil error, want one")
	}
	wantIdle(t, c)
}

func TestHTTP2WithoutTLSIsSpokenWhenNothingElseMayBe(t *testing.T) {
	server := httptest.NewUnstartedServer(slow(0))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	defer server.Close()
	only := new(http.Protocols)
	only.SetUnencryptedHTTP2(true)
	c := newClient(t, server.URL, capacity.Plan{InFlight: 4, Streams: 4}, &Options{Protocols: only})
	resp, err := get(t, c, "/")
	if err != nil {
		t.Fatal(err)
	}
	if read(t, resp); resp.ProtoMajor != 2 {
		t.Errorf("protocol = %s, want HTTP/2", resp.Proto)
	}
}
