package factory

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/readiness"
)

// Ready is the readiness gate. Checks of one's own are added before Run.
func (s *Service) Ready() *readiness.Gate { return &s.ready }

// Door is the door, nil if the file has none.
func (s *Service) Door() *admission.Door { return s.door }

// Handler is app behind the door, and beside it, unless Options.Admin has them,
// the routes of [Service.AdminHandler]. It is what Run serves. A nil app is
// http.DefaultServeMux, as for an http.Server.
func (s *Service) Handler(app http.Handler) http.Handler {
	if app == nil {
		app = http.DefaultServeMux
	}
	if s.door != nil {
		app = s.door.Handler(app)
	}
	if s.options.Admin != "" {
		return app
	}
	admin := s.adminMux()
	// It is tempting to give the mux app as its "/". But it would then redirect
	// what has "//" or ".." in its path, which is for app to judge.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := admin.Handler(r); pattern != "" {
			admin.ServeHTTP(w, r)
			return
		}
		app.ServeHTTP(w, r)
	})
}

// AdminHandler has the routes for those who run the service: GET /readyz,
// /livez, /metrics and /debug/offtake, and POST /debug/offtake/control with
// Options.Control.
func (s *Service) AdminHandler() http.Handler { return s.adminMux() }

func (s *Service) adminMux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.Handle("GET /livez", readiness.Live())
	gatherer, ok := s.options.Registerer.(prometheus.Gatherer)
	if ok {
		mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{}))
	}
	mux.Handle("GET /debug/offtake", s.page)
	if s.options.Control {
		mux.HandleFunc("POST /debug/offtake/control", s.serveControl)
	}
	return mux
}

// serveReady is the gate's answer, with the names of what the service is open
// without.
func (s *Service) serveReady(w http.ResponseWriter, r *http.Request) {
	if names := s.Degraded(); len(names) > 0 {
		w.Header().Set("Offtake-Degraded", strings.Join(names, ", "))
	}
	s.ready.ServeHTTP(w, r)
}
