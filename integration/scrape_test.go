package integration

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/offtake-go/offtake/integration/dashboards"
)

// TestTheCurrentPrometheusReadsTheMetrics has the parsers of the current release
// read what a service serves in each format that it may ask for. Since version 3
// an answer that does not say which format it has is refused.
func TestTheCurrentPrometheusReadsTheMetrics(t *testing.T) {
	processor, ledger := newUpstream(t, time.Millisecond), newUpstream(t, time.Millisecond)
	service := startService(t, processor.URL, ledger.URL)
	eventually(t, 20*time.Second, "an order is served", func() (any, bool) {
		status := get(t.Context(), http.DefaultClient, service)
		return status, status == http.StatusOK
	})
	for name, accept := range map[string]string{
		"protobuf":    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
		"OpenMetrics": "application/openmetrics-text;version=1.0.0",
		"text":        "text/plain;version=0.0.4",
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, service+"/metrics", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Accept", accept)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			content, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			series, native := parse(t, content, resp.Header.Get("Content-Type"))
			if series < 50 || (name == "protobuf") != (native > 0) {
				t.Errorf("%d series and %d native histograms of ours were read, want 50 at least, and native ones in protobuf alone", series, native)
			}
		})
	}
}

// parse counts this module's series.
func parse(t *testing.T, content []byte, contentType string) (series, native int) {
	t.Helper()
	p, err := textparse.New(content, contentType, nil, textparse.ParserOptions{})
	if err != nil {
		t.Fatalf("Content-Type %q: %v", contentType, err)
	}
	for {
		entry, err := p.Next()
		if errors.Is(err, io.EOF) {
			return series, native
		}
		if err != nil {
			t.Fatal(err)
		}
		if entry != textparse.EntrySeries && entry != textparse.EntryHistogram {
			continue
		}
		var l labels.Labels
		p.Labels(&l)
		if !strings.HasPrefix(l.Get(model.MetricNameLabel), "offtake_") {
			continue
		}
		series++
		if entry == textparse.EntryHistogram {
			native++
		}
	}
}

// TestTheCurrentPrometheusTakesEveryQuery parses what the older server evaluates.
func TestTheCurrentPrometheusTakesEveryQuery(t *testing.T) {
	p := parser.NewParser(parser.Options{})
	for _, d := range dashboards.All() {
		for _, row := range d.Rows {
			for _, panel := range row.Panels {
				for _, q := range panel.Queries {
					if _, err := p.ParseExpr(substituted(q.Expr)); err != nil {
						t.Errorf("%s, %s: %v", d.Title, panel.Title, err)
					}
				}
			}
		}
	}
}
