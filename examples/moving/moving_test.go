package moving

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/factory"
	"github.com/offtake-go/offtake/httpclient"
	"github.com/offtake-go/offtake/offtaketest"
)

func TestBeforeAndAfterGetTheSameAnswer(t *testing.T) {
	u := offtaketest.Loopback(t, nil, offtaketest.OK("paid"))
	after, err := After(u.URL(), &httpclient.Options{Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	before := Before()
	defer before.CloseIdleConnections()
	for name, c := range map[string]*http.Client{"before": before, "after": after.Client} {
		resp, err := c.Get(u.URL() + "/orders")
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "paid" || err != nil {
			t.Errorf("%s, Get() = %q, %v, want paid", name, body, err)
		}
		resp.Body.Close()
	}
	u.WantSent(t, "GET /orders", "GET /orders")
}

func TestTheLogOutsideTheDoorHasWhatTheDoorRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offtake.yaml")
	if err := os.WriteFile(path, []byte("service: a\nreplicas: {min: 1}\ndoor: {inFlight: 1, queue: none}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s, err := factory.Open(path, &factory.Options{
		NoMetrics: true, Debug: factory.NoDebug, Propagation: time.Millisecond, Spread: time.Millisecond, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	entered, leave, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- ServeLogged(ctx, s, l, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			close(entered)
			<-leave
		}), slog.New(slog.NewTextHandler(&out, nil)))
	}()
	<-s.Ready().Opened()
	ask := func() {
		if resp, err := http.Get("http://" + l.Addr().String() + "/orders"); err != nil {
			t.Error(err)
		} else {
			resp.Body.Close()
		}
	}
	first := make(chan struct{})
	go func() {
		ask()
		close(first)
	}()
	<-entered
	ask()
	close(leave)
	<-first
	cancel()
	if err := <-done; err != nil { // the log is complete
		t.Errorf("ServeLogged() = %v, want nil", err)
	}
	for _, want := range []string{"status=429", "status=200"} {
		if strings.Count(out.String(), want) != 1 {
			t.Errorf("the log has not one line of %s:\n%s", want, &out)
		}
	}
}
