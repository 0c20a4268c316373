package integration

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestTheSimulationReportCanBeRead makes the report of an incident beside its
// repair, as its users do, and opens it in a browser.
func TestTheSimulationReportCanBeRead(t *testing.T) {
	report := filepath.Join(t.TempDir(), "report.html")
	incidents := "../examples/incidents/"
	cmd := exec.CommandContext(t.Context(), "go", "run", "../tools/cmd/offtake", "simulate", "-seeds", "2", "-html", report,
		"-against", incidents+"inc-1187-repaired.yaml", incidents+"inc-1187.yaml")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("offtake simulate: %v\n%s", err, out)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/favicon.ico" { // a file has none
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.ServeFile(w, r, report)
	}))
	t.Cleanup(server.Close)
	b := openBrowser(t)
	b.do(t, chromedp.EmulateViewport(1280, 900), chromedp.Navigate(server.URL))
	wantScript(t, b, `document.querySelectorAll("figure[data-chart]").length > 3`, true)

	// A chart can be read by keyboard.
	b.do(t, chromedp.Focus(chromedp.CSS("figure[data-chart]")), chromedp.KeyEvent(kb.ArrowRight))
	wantScript(t, b, `/^at .*\d/.test(document.querySelector("figure[data-chart] .when").textContent)`, true)
	b.photograph(t, "report")
	b.wantContrast(t)
	b.do(t, chromedp.EmulateViewport(390, 844))
	wantScript(t, b, `document.documentElement.scrollWidth <= 390`, true)
	b.photograph(t, "report-phone")
	b.wantQuietConsole(t)
}
