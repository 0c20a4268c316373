package integration

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/offtake-go/offtake/admission"
	"github.com/offtake-go/offtake/capacity"
	"github.com/offtake-go/offtake/readiness"
)

var update = flag.Bool("update", false, "write the measured tables into docs")

const (
	replicaPlaces = 4
	replicaTime   = 100 * time.Millisecond // of a request, so that one replica serves 40 of them each second
	busyReplicas  = 3
	busyRate      = 180 // half as much again as the replicas serve
	busyFor       = 6 * time.Second
)

// busyRow is one experiment, and the share of the load that should be served.
type busyRow struct {
	rule   string
	answer string // of a busy replica
	want   between
	run    func(t *testing.T) (served, all int)
}

type between struct{ least, most float64 }

// The replicas can serve 120/180. The bounds are wide: machines differ, and the
// two cases do not come near each other.
func kept() between   { return between{0.4, 0.75} }
func lost() between   { return between{0, 0.3} }
func oneOut() between { return between{0.3, 0.6} } // two of three are left

// TestBusyIsNotBroken has real proxies between callers and replicas that are busy:
// once with the door's own answer, once with 503 in its place.
func TestBusyIsNotBroken(t *testing.T) {
	behind := func(p proxy, status int) func(*testing.T) (int, int) {
		return func(t *testing.T) (int, int) { return behindProxy(t, p, status) }
	}
	const haproxyRule, nginxRule, caddyRule = "HAProxy `observe layer7 error-limit 2`", "nginx `proxy_next_upstream … http_503`, `max_fails=5`", "Caddy `unhealthy_status 5xx`, `max_fails 5`"
	rows := []busyRow{
		{haproxyRule, "503", lost(), behind(haproxy(2), 503)},
		{haproxyRule, "429", kept(), behind(haproxy(2), 429)},
		{nginxRule, "503", lost(), behind(nginx("error timeout http_503"), 503)},
		{nginxRule, "429", kept(), behind(nginx("error timeout http_503"), 429)},
		{"nginx, the same with `http_429` listed, too", "429", lost(), behind(nginx("error timeout http_503 http_429"), 429)},
		{caddyRule, "503", lost(), behind(caddy("5xx"), 503)},
		{caddyRule, "429", kept(), behind(caddy("5xx"), 429)},
		{"Caddy, the same with `429` listed, too", "429", lost(), behind(caddy("5xx 429"), 429)},
	}
	rows = append(rows, grpcRows()...)
	lines := make([]string, len(rows))
	t.Run("rows", func(t *testing.T) {
		for i, row := range rows {
			t.Run(strings.ReplaceAll(row.rule+" "+row.answer, "/", "_"), func(t *testing.T) {
				t.Parallel()
				served, all := row.run(t)
				share := float64(served) / float64(max(1, all))
				lines[i] = fmt.Sprintf("| %s | %s | %.1f %% | %.0f/s |", row.rule, row.answer, 100*share, float64(served)/busyFor.Seconds())
				if share < row.want.least || share > row.want.most {
					t.Errorf("%d of %d calls were served, %.2f of them, want a share of %v to %v", served, all, share, row.want.least, row.want.most)
				}
			})
		}
	})
	table := "| passive health check | busy is | served | |\n|---|---|---|---|\n" + strings.Join(lines, "\n") + "\n"
	t.Logf("served of %d calls/s, where the replicas can serve %d/s:\n%s", busyRate, busyReplicas*replicaPlaces*10, table)
	if *update && !t.Failed() {
		replaceBetween(t, "../docs/busy-is-not-broken.md", "busy", table)
	}
}

// replaceBetween puts text between the two comments of a name in a file.
func replaceBetween(t *testing.T, path, name, text string) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end "+name+" -->\n"
	before, rest, ok := strings.Cut(string(content), begin)
	_, after, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatalf("%s has no part between %q and %q", path, begin, end)
	}
	if err := os.WriteFile(path, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// behindProxy sends the load through a proxy to replicas that answer with a status
// when they are busy.
func behindProxy(t *testing.T, p proxy, status int) (served, all int) {
	t.Helper()
	var replicas []string
	for i := range busyReplicas {
		replicas = append(replicas, newReplica(t, fmt.Sprintf("replica-%d", i), status))
	}
	call := getter(t, p(t, replicas)+"/order")
	answers := load(t.Context(), busyRate, busyFor, call)
	t.Logf("answers by status: %v", answers)
	for _, n := range answers {
		all += n
	}
	return answers[http.StatusOK], all
}

// newReplica is a server behind a door, which answers 429 when it is busy.
func newReplica(t *testing.T, name string, status int) (address string) {
	t.Helper()
	door, err := admission.New(capacity.Plan{InFlight: replicaPlaces, Queue: capacity.NoQueue},
		&admission.Options{Name: name, Registerer: prometheus.NewRegistry()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { door.Close() })
	app := door.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { work(r.Context()) }))
	if status != http.StatusTooManyRequests {
		app = instead(status, app)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /livez", readiness.Live())
	mux.Handle("/", app)
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.Listener.Addr().String()
}

// work takes the time of a request.
func work(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(replicaTime):
	}
}

// instead is what so many servers do: busy is answered with another status.
func instead(status int, app http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		app.ServeHTTP(&relabelled{w, status}, r)
	})
}

type relabelled struct {
	http.ResponseWriter
	busy int
}

func (w *relabelled) WriteHeader(status int) {
	if status == http.StatusTooManyRequests {
		status = w.busy
	}
	w.ResponseWriter.WriteHeader(status)
}
