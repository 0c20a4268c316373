package integration

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/offtake-go/offtake/internal/loopback"
)

const collectorConfig = `
receivers:
  otlp: {protocols: {grpc: {endpoint: %q}}}
exporters:
  debug: {verbosity: detailed, use_internal_logger: false, output_paths: [%q]}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], exporters: [debug]}
    metrics: {receivers: [otlp], exporters: [debug]}
`

// TestARealCollectorTakesSpansAndMetrics has the collector of OpenTelemetry, built
// from its modules, receive what the SDK sends of calls, and reads what it made of
// it.
func TestARealCollectorTakesSpansAndMetrics(t *testing.T) {
	dir := t.TempDir()
	program, config, out := filepath.Join(dir, "collector"), filepath.Join(dir, "config.yaml"), filepath.Join(dir, "out.txt")
	t.Log("building the collector: about 170 s of CPU the first time")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	build.Dir = "collector"
	build.Env = append(os.Environ(), "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build in collector: %v\n%s", err, said)
	}
	address := loopback.Free(t)
	if err := os.WriteFile(config, fmt.Appendf(nil, collectorConfig, address, out), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, program, "--config", "file:"+config)
	eventually(t, 30*time.Second, "the collector listens", func() (any, bool) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err, false
		}
		return nil, conn.Close() == nil
	})
	callOverOTLP(t, address)
	eventually(t, 30*time.Second, "the collector has it all", func() (any, bool) {
		text, err := os.ReadFile(out)
		return fmt.Sprintf("%v: %s", err, text), strings.Count(string(text), "End time") == 2 && strings.Contains(string(text), "http.client.request.duration")
	})
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	wantCollected(t, string(text))
}

// wantCollected looks for what the semantic conventions ask for, in the words of the
// collector's debug exporter.
func wantCollected(t *testing.T, text string) {
	t.Helper()
	for _, want := range []string{
		`Kind +: Client`, `http\.request\.method: Str\(GET\)`, `http\.response\.status_code: Int\(200\)`, `server\.address: Str\(127\.0\.0\.1\)`,
		`Name: http\.client\.request\.duration\n.*\n +-> Unit: s\n +-> DataType: Histogram`,
		`Name: http\.client\.request\.time_in_queue`, `Name: http\.client\.open_connections`, `Count: 2`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("the collector has nothing that matches %s", want)
		}
	}
	if strings.Contains(text, "secret") {
		t.Error("the collector was told of a query")
	}
	const layout = "2006-01-02 15:04:05.999999999 -0700 MST"
	times := regexp.MustCompile(`Start time +: (.+)\n +End time +: (.+)`).FindAllStringSubmatch(text, -1)
	if len(times) != 2 {
		t.Fatalf("%d spans have their times, want 2", len(times))
	}
	began, err := time.Parse(layout, times[0][1])
	if err != nil {
		t.Fatal(err)
	}
	ended, err := time.Parse(layout, times[0][2])
	if err != nil {
		t.Fatal(err)
	}
	if got, body := ended.Sub(began), otlpChunks*otlpPause; got < body {
		t.Errorf("the span of a body that takes %v takes %v, want no less: it ends with the body", body, got)
	}
	if t.Failed() {
		t.Logf("the collector wrote:\n%s", text)
	}
}
