package factory

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/internal/loopback"
)

func TestThePublicAddressHasTheProbesAndNothingElse(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{Control: true})
	s.Door().Open()
	h := s.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for request, want := range map[[2]string]int{
		{"GET", "/readyz"}:                        http.StatusServiceUnavailable,
		{"GET", "/livez"}:                         http.StatusOK,
		{"GET", "/metrics"}:                       http.StatusTeapot,
		{"GET", "/debug/offtake"}:                 http.StatusTeapot,
		{"POST", "/debug/offtake/control?reload"}: http.StatusTeapot,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(request[0], "http://localhost"+request[1], nil))
		if w.Code != want {
			t.Errorf("%s = %d, want %d", request, w.Code, want)
		}
	}
}

func TestTheDebugPageAnswersNoOtherSite(t *testing.T) {
	s, _ := open(t, write(t, two, 8, 4, 2), Options{Control: true, DebugHosts: []string{"debug.example"}})
	for _, tt := range []struct {
		host, origin, site string
		want               int
	}{
		{"localhost:8082", "", "", 200},
		{"localhost.", "", "", 200},
		{"127.0.0.1:8082", "", "", 200},
		{"[::1]:8082", "", "", 200},
		{"10.1.2.3", "", "", 200},
		{"debug.example", "", "", 200},
		{"DEBUG.example", "", "", 200},
		{"localhost:8082", "http://localhost:8082", "same-origin", 200},
		{"evil.example", "", "", 403}, // it may resolve to 127.0.0.1
		{"127.0.0.1.evil.example", "", "", 403},
		{"", "", "", 403},
		{"localhost:8082", "http://evil.example", "", 403},
		{"localhost:8082", "null", "", 403},
		{"localhost:8082", "http://localhost:3000", "", 403}, // another port is another site
		{"localhost:8082", "", "cross-site", 403},
	} {
		for _, request := range [][2]string{{"GET", "/debug/offtake"}, {"POST", "/debug/offtake/control?door&observe=false"}} {
			r := httptest.NewRequest(request[0], "http://a"+request[1], nil)
			r.Host = tt.host
			r.Header.Set(controlHeader, "yes")
			for name, value := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			w := httptest.NewRecorder()
			s.AdminHandler().ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("%s with Host %q, Origin %q, Sec-Fetch-Site %q = %d, want %d", request, tt.host, tt.origin, tt.site, w.Code, tt.want)
			}
		}
	}
}

func TestEachAdminAddressHasItsRoutes(t *testing.T) {
	path := write(t, one+"admin: %q\n", upstream(t).URL(), loopback.Free(t))
	debug := loopback.Free(t)
	s, _ := open(t, path, Options{Debug: debug, Propagation: time.Millisecond, Spread: time.Millisecond})
	_, stop := running(t, s, http.NotFoundHandler())
	<-s.Ready().Opened()
	for url, want := range map[string]int{
		s.options.Admin + "/readyz":        200,
		s.options.Admin + "/metrics":       200,
		s.options.Admin + "/debug/offtake": 404,
		debug + "/metrics":                 200,
		debug + "/debug/offtake":           200,
	} {
		if got, _ := status(t, "http://"+url); got != want {
			t.Errorf("GET %s = %d, want %d", url, got, want)
		}
	}
	if err := stop(); err != nil {
		t.Errorf("Serve() = %v, want nil", err)
	}
}

func TestADebugAddressThatIsStatedMustBeFree(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	s, _ := open(t, write(t, two, 8, 4, 2), Options{Debug: strings.TrimPrefix(taken.URL, "http://")})
	if err := s.ServeOn(t.Context(), Listener{Address: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "Options.Debug") {
		t.Errorf("ServeOn() = %v, want it to name Options.Debug", err)
	}
}

func TestWithoutMetricsTwoServicesOfOneFileStandInOneProcess(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	for range 2 {
		s, err := Open(path, &Options{NoMetrics: true})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := httptest.NewRecorder()
		s.AdminHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("GET /metrics = %d, want 404", w.Code)
		}
		if !strings.Contains(string(debugPage(t, s)), "ledger") {
			t.Error("the debug page does not show ledger, want it to")
		}
	}
	if _, err := Open(path, &Options{NoMetrics: true, Registerer: prometheus.NewRegistry()}); err == nil || !strings.Contains(err.Error(), "NoMetrics") {
		t.Errorf("Open(NoMetrics with a Registerer) = %v, want an error", err)
	}
}

func TestTheFileSaysWhatTheOptionsDoNot(t *testing.T) {
	file := two + "observe: true\nadmin: \":9\"\nstart: {spread: 3s, early: 4s, openDegraded: 5s}\nstop: {drain: 6s}\n"
	s, _ := open(t, write(t, file, 8, 4, 2), Options{})
	got := s.times()
	if got.Admin != ":9" || got.Spread != 3*time.Second || got.Early != 4*time.Second || got.OpenDegraded != 5*time.Second || got.Drain != 6*time.Second {
		t.Errorf("the file's times are %v, %v, %v, %v, want 3s, 4s, 5s, 6s", got.Spread, got.Early, got.OpenDegraded, got.Drain)
	}
	if c, _ := s.Client("ledger"); !c.State().Observing || !s.Door().Stats().Observing {
		t.Error("with observe: true a client or the door applies its limits, want neither")
	}
	s, _ = open(t, write(t, file, 8, 4, 2), Options{Spread: 1, Early: 2, OpenDegraded: StayClosed, Drain: 3, Admin: ":8"})
	if got := s.times(); got.Admin != ":8" || got.Spread != 1 || got.Early != 2 || got.OpenDegraded != StayClosed || got.Drain != 3 {
		t.Errorf("the options' times are %+v, want them to win over the file", got)
	}
	s, _ = open(t, write(t, two+"start: {warm: 20s}\n", 8, 4, 2), Options{})
	if got := s.times().OpenDegraded; got != 40*time.Second {
		t.Errorf("OpenDegraded of pools that take 20s = %v, want 40s", got)
	}
}

func TestTheTargetComesFromTheEnvironmentOrTheOptions(t *testing.T) {
	const file = "service: a\nreplicas: {min: 1}\nupstreams: {card: {target: \"${OFFTAKE_TEST_CARD}\", inFlight: 1}}\n"
	path := write(t, file)
	if _, err := Open(path, &Options{NoMetrics: true}); err == nil || !strings.Contains(err.Error(), "OFFTAKE_TEST_CARD is not set") {
		t.Errorf("Open() = %v, want an error that names the variable", err)
	}
	s, err := Open(path, &Options{NoMetrics: true, Targets: map[string]string{"card": "http://card.test"}})
	if err != nil {
		t.Fatalf("Open(Targets) = %v, want nil", err)
	}
	s.Close()
	t.Setenv("OFFTAKE_TEST_CARD", "http://"+strings.TrimPrefix(upstream(t).URL(), "http://"))
	s, _ = open(t, path, Options{})
	c, _ := s.HTTP("card")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Warm(ctx); err != nil {
		t.Errorf("Warm() of the environment's target = %v, want nil", err)
	}
	if _, err := Open(path, &Options{NoMetrics: true, Targets: map[string]string{"cart": "http://a"}}); err == nil || !strings.Contains(err.Error(), `"cart"`) {
		t.Errorf("Open(Targets of nobody) = %v, want an error that names cart", err)
	}
}

func TestReloadSwitchesObserveModeForAll(t *testing.T) {
	path := write(t, two, 8, 4, 2)
	s, _ := open(t, path, Options{})
	rewrite(t, path, two+"observe: true\n", 8, 4, 2)
	if err := s.Reload(); err != nil {
		t.Fatal(err)
	}
	if c, _ := s.Client("ledger"); !c.State().Observing || !s.Door().Stats().Observing {
		t.Error("after observe: true a client or the door applies its limits, want neither")
	}
}
