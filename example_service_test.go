package offtake_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/debug"
	"github.com/offtake-go/offtake/debug/registry"
	"github.com/offtake-go/offtake/httpclient"
	"github.com/offtake-go/offtake/readiness"
)

// A whole service by hand: a client, readiness, a door, the debug page, and the
// order in which they stop. Package factory does all of it from one file.
func Example_service() {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()

	demand := capacity.Demand{Rate: 120, Latency: 300 * time.Millisecond, Replicas: 6, Limit: 200, Deadline: 5 * time.Second}
	plan, err := demand.Plan()
	check(err)
	processor, err := httpclient.New("https://processor.example", plan, &httpclient.Options{Name: "card-processor"})
	check(err)
	defer processor.Close()
	door, err := admission.New(capacity.Plan{InFlight: 64}, &admission.Options{Early: 2 * time.Second})
	check(err)
	defer door.Close()
	page := debug.Handler(registry.Source(prometheus.DefaultGatherer))
	go page.Run(ctx) // keeps ten minutes of history

	var ready readiness.Gate
	ready.Add("card-processor", processor.Warm)
	go func() {
		if err := ready.Run(ctx); err != nil {
			slog.Error("not ready", "error", err)
			return
		}
		door.Open()
	}()

	app := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, _ := http.NewRequestWithContext(r.Context(), http.MethodPost, "/authorize", r.Body)
		resp, err := processor.Do(req)
		if err != nil {
			slog.Warn("authorize", "error", err)
			admission.WriteError(w, err) // busy is 429, out of time 504, the rest 502
			return
		}
		defer resp.Body.Close()
		io.Copy(w, resp.Body)
	})
	mux := http.NewServeMux()
	mux.Handle("GET /readyz", &ready) // these three must answer under load
	mux.Handle("GET /livez", readiness.Live())
	mux.Handle("GET /debug/offtake", page)
	mux.Handle("/", door.Handler(app))
	srv := &http.Server{Addr: ":8080", Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	srv.RegisterOnShutdown(page.Close)
	go func() { slog.Info("no longer listening", "reason", srv.ListenAndServe()) }()

	<-ctx.Done()
	ready.Drain()
	<-time.After(5 * time.Second) // the balancers look away; all is served meanwhile
	stop, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	check(errors.Join(door.Shutdown(stop), srv.Shutdown(stop), processor.Shutdown(stop), srv.Close())) // Close cancels what is stuck
}
