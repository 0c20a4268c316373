package integration

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestTheFirstLineSaysWhichUpstreamAndWhatItIs has the causes of the incidents
// happen to a service, and reads what curl would show: busy, slow, broken, or
// mis-sized?
func TestTheFirstLineSaysWhichUpstreamAndWhatItIs(t *testing.T) {
	for name, c := range map[string]struct {
		rate    float64 // 20/s of 50 ms is planned
		latency time.Duration
		status  int
		want    []string // in the first line
	}{
		"all is well":           {15, 50 * time.Millisecond, 200, []string{"All is well: "}},
		"mis-sized for traffic": {120, 50 * time.Millisecond, 200, []string{"card-processor is mis-sized – queueing: needs", "(more traffic than planned)"}},
		"slow":                  {20, 300 * time.Millisecond, 200, []string{"card-processor is slow – queueing: needs", "slower than planned"}},
		"slower than deadlines": {4, 3 * time.Second, 200, []string{"card-processor is slow – ", "ran out of time"}},
		"broken":                {15, 50 * time.Millisecond, 500, []string{"card-processor is broken – ", "calls failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			processor, ledger := newUpstream(t, c.latency), newUpstream(t, 2*time.Millisecond)
			processor.status.Store(int64(c.status))
			service := startService(t, processor.URL, ledger.URL)
			underLoad(t, service, c.rate)
			eventually(t, 40*time.Second, "the first line says so", func() (any, bool) {
				said := page(t.Context(), service+"/debug/offtake")
				first, _, _ := strings.Cut(said, "\n")
				for _, want := range c.want {
					if !strings.Contains(first, want) {
						return said, false
					}
				}
				return said, true
			})
		})
	}
}

// page is what curl shows.
func page(ctx context.Context, url string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err.Error()
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
