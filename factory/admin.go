package factory

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/offtake-go/offtake/readiness"
)

// NoDebug is for Options.Debug: the debug page is served nowhere.
const NoDebug = "none"

// A scrape reads every series: a flood of them must not be what a service is busy
// with.
const (
	scrapes    = 4
	scrapeTime = 10 * time.Second // Prometheus' default scrape_timeout
)

// AdminHandler has all routes for those who run the service: GET /readyz, /livez,
// /metrics and /debug/offtake, and POST /debug/offtake/control with
// Options.Control. Run serves each where it is safe: see Options.Admin and
// Options.Debug.
func (s *Service) AdminHandler() http.Handler {
	mux := s.probes()
	s.addMetrics(mux)
	mux.Handle("GET /debug/offtake", s.guarded(s.page))
	if s.options.Control {
		mux.Handle("POST /debug/offtake/control", s.guarded(http.HandlerFunc(s.serveControl)))
	}
	return mux
}

// probes are what the kubelet asks for, at the pod's address.
func (s *Service) probes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /readyz", s.serveReady)
	mux.Handle("GET /livez", readiness.Live())
	return mux
}

// scraped is what Options.Admin serves.
func (s *Service) scraped() *http.ServeMux {
	mux := s.probes()
	s.addMetrics(mux)
	return mux
}

func (s *Service) addMetrics(mux *http.ServeMux) {
	gatherer, ok := s.options.Registerer.(prometheus.Gatherer)
	if !ok || s.options.NoMetrics {
		return
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{MaxRequestsInFlight: scrapes, Timeout: scrapeTime}))
}

// serveReady is the gate's answer, with the names of what the service is open
// without.
func (s *Service) serveReady(w http.ResponseWriter, r *http.Request) {
	if names := s.Degraded(); len(names) > 0 {
		w.Header().Set("Offtake-Degraded", strings.Join(names, ", "))
	}
	s.ready.ServeHTTP(w, r)
}

// guarded lets in who asks under a name that only this service has, and not from a
// page of another. Otherwise any page in an operator's browser could read the
// debug page, under a name of its own that it has resolve to 127.0.0.1.
func (s *Service) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.isOwn(r.Host) {
			http.Error(w, "Host is neither an address, nor localhost, nor in Options.DebugHosts: "+
				"ask by one of them, as kubectl port-forward does", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
				http.Error(w, "Origin is another site", http.StatusForbidden)
				return
			}
		}
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
			http.Error(w, "Sec-Fetch-Site is cross-site", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isOwn says whether nobody else can have a name. An address is its own name: no
// resolver comes between.
func (s *Service) isOwn(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil || slices.Contains(s.options.DebugHosts, host)
}
